// The mode async against a replay of the order in which gradients arrived: servers one update after
// another, workers from the weights that they were sent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>

#include "engine/sync/device/host/gradient_path.h"
#include "engine/sync/emulate.h"
#include "engine/sync/parameter_server.h"
#include "tests/engine/sync/arrivals.h"

namespace thalweg::engine {
namespace {

using jobspec::Map;
using test::Arrivals;
using test::Case;
using test::on_ranks;
using test::replay;
using test::run;
using test::TestRank;
using test::Trace;
using test::Trained;
using test::with_servers;
using testing::HasSubstr;

Case async(const char* optimizer, int steps = 12) {
  Case c = test::batch_norm_and_dropout();
  c.optimizer = Map{{"name", optimizer}};
  c.sync = Map{{"mode", "async"}};
  c.steps = steps;
  c.noise_every = 0;
  return c;
}

TEST(Async, OnOneRankIsSynchronous) {
  for (const char* optimizer : {"sgd", "momentum", "adam", "lamb"}) {
    Case plain = async(optimizer);
    plain.sync = Map{};
    EXPECT_EQ(test::train(async(optimizer), 1, 2)[0], test::train(plain, 1, 2)[0]) << optimizer;
  }
}

TEST(Async, IsTheReplayOfItsArrivals) {
  for (const char* optimizer : {"momentum", "adam", "lamb"})
    for (const int ranks : {2, 3, 4}) {
      const Case c = async(optimizer);
      const Trace found = run(c, ranks);
      for (const auto& order : found.arrivals)
        ASSERT_EQ(order.size(), static_cast<std::size_t>(ranks * c.steps)) << "each taken once";
      for (const auto& parameters : found.parameters)
        EXPECT_EQ(parameters, found.parameters[0]) << "all have the same after they have met";
      EXPECT_EQ(found.parameters[0], replay(c, found.arrivals, ranks, false))
          << optimizer << " " << ranks;
    }
}

// Servers on ranks of their own: one, two, more than the model has parameters.
TEST(Async, OfOneWorkerIsSynchronousWhateverServes) {
  for (const char* optimizer : {"sgd", "adam", "lamb"})
    for (const int servers : {1, 2, 12}) {
      Case plain = async(optimizer);
      plain.sync = Map{};
      const Case c = with_servers(async(optimizer), 1 + servers, servers);
      const Trained expected = test::train(plain, 1, 1)[0];
      for (const Trained& rank : test::train(c, 1 + servers, 1)) {
        EXPECT_EQ(rank.parameters, expected.parameters) << optimizer << " " << servers;
        EXPECT_EQ(rank.running, expected.running);
      }
      EXPECT_EQ(test::train(c, 1 + servers, 1)[0].losses, expected.losses);
    }
}

TEST(Async, WithServersApartIsTheReplayOfItsArrivals) {
  for (const char* optimizer : {"momentum", "adam"})
    for (const auto& [ranks, servers] :
         {std::pair{3, 1}, std::pair{4, 1}, std::pair{4, 2}, std::pair{5, 2}, std::pair{14, 12}}) {
      const Case c = with_servers(async(optimizer), ranks, servers);
      const int workers = ranks - servers;
      const Trace found = run(c, ranks);
      std::size_t updates = 0;
      for (std::size_t rank = 0; rank < found.arrivals.size(); ++rank) {
        updates += found.arrivals[rank].size();
        if (static_cast<int>(rank) < workers) {
          EXPECT_TRUE(found.arrivals[rank].empty()) << "a worker serves nobody";
        } else if (!found.arrivals[rank].empty()) {
          EXPECT_EQ(found.arrivals[rank].size(), static_cast<std::size_t>(workers * c.steps));
        }
      }
      EXPECT_GE(updates, static_cast<std::size_t>(workers * c.steps));
      for (const auto& parameters : found.parameters)
        EXPECT_EQ(parameters, found.parameters[0]) << "all have the same after they have met";
      EXPECT_EQ(found.parameters[0], replay(c, found.arrivals, workers, false, servers))
          << optimizer << " " << ranks << " with " << servers;
      double sum = 0, count = 0;
      for (const auto& order : found.arrivals)
        for (const Arrival& a : order) {
          sum += static_cast<double>(a.staleness);
          ++count;
        }
      ASSERT_EQ(found.measured.size(), 4u);
      EXPECT_DOUBLE_EQ(found.measured[0].second, sum / count);
    }
}

TEST(Async, MeetsItsServersOnTheWay) {
  const Case c = with_servers(async("momentum"), 4, 2);
  std::vector<std::vector<float>> weights(4), later(4);
  on_ranks(4, [&](comm::Group& group) {
    TestRank here(c, group, 1);
    const auto mode = make_sync_mode(c.sync, here.parts());
    const auto rank = static_cast<std::size_t>(group.rank());
    for (int step = 0; step < c.steps; ++step) {
      mode->step(here.input(step));
      if (step % 5 != 4) continue;
      EXPECT_FALSE(mode->meet());
      weights[rank] = here.plain_parameters();
    }
    mode->meet();
    EXPECT_EQ(mode->states().at(0).doubles[0], 2 * c.steps);
    later[rank] = here.plain_parameters();
  });
  for (std::size_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(weights[rank], weights[0]);
    EXPECT_EQ(later[rank], later[0]);
  }
  EXPECT_NE(weights[0], later[0]);
}

TEST(Async, DividesTheRateByTheStaleness) {
  Case c = async("sgd");
  c.sync.set("staleness_damping", "inverse");
  const Trace found = run(c, 4);
  EXPECT_EQ(found.parameters[0], replay(c, found.arrivals, 4, true));
  bool stale = false;
  for (const Arrival& a : found.arrivals[0])
    stale = stale || a.staleness > 1;
  ASSERT_TRUE(stale);
  EXPECT_NE(found.parameters[0], replay(c, found.arrivals, 4, false));
}

TEST(Async, MeasuresStaleness) {
  const Case c = async("sgd", 40);
  const Trace found = run(c, 4);
  double sum = 0, largest = 0, count = 0;
  for (const auto& order : found.arrivals)
    for (const Arrival& a : order) {
      sum += static_cast<double>(a.staleness);
      largest = std::max(largest, static_cast<double>(a.staleness));
      ++count;
    }
  ASSERT_EQ(found.measured.size(), 4u);
  EXPECT_DOUBLE_EQ(found.measured[0].second, sum / count);
  EXPECT_EQ(found.measured[3].second, largest);
  EXPECT_LE(found.measured[1].second, found.measured[2].second);
  // Nobody is answered by a rank that has not made its first step: the last one to do so comes
  // after all others. How stale gradients are later is the machine's affair.
  EXPECT_GE(largest, 3);
  EXPECT_GT(sum, 0);
}

/// How many steps a gradient that arrived was ahead of the slowest worker's newest one.
std::int64_t largest_lead(const Arrivals& arrivals) {
  std::int64_t lead = 0;
  for (const auto& order : arrivals) {
    std::vector<std::int64_t> steps(arrivals.size(), -1);
    for (const Arrival& a : order) {
      steps[static_cast<std::size_t>(a.worker)] = a.step;
      lead = std::max(lead, a.step - *std::min_element(steps.begin(), steps.end()));
    }
  }
  return lead;
}

// Rank 1 takes much longer; nobody may be further ahead than is allowed. A gradient may arrive, its
// answer waits.
TEST(Async, TheFastWaitForTheSlowestAtMostSoLong) {
  Emulation emulation;
  emulation.pause_every = 1;
  emulation.pause_ms = 25;
  emulation.pauses = {0, 1, 0};
  Case c = async("sgd", 30);
  c.emulation = &emulation;
  for (const int lead : {1, 3}) {
    c.sync.set("max_lead", lead);
    const Trace found = run(c, 3);
    EXPECT_LE(largest_lead(found.arrivals), lead + 1);
    for (const auto& order : found.arrivals)
      EXPECT_EQ(order.size(), 90u);
  }
  c.sync.set("max_lead", 0);
  EXPECT_GT(largest_lead(run(c, 3).arrivals), 4);
}

TEST(Async, AllRanksStopAfterTheSameStep) {
  Case c = async("sgd", 20);
  c.sync.set("max_lead", 3);  // else the others may be done before
  std::vector<std::int64_t> ends(3, -1);
  on_ranks(3, [&](comm::Group& group) {
    TestRank here(c, group, 1);
    const auto mode = make_sync_mode(c.sync, here.parts());
    for (int step = 0; step < c.steps; ++step) {
      StepInput input = here.input(step);
      input.stop = group.rank() == 2 && step == 5;
      if (!mode->step(input).value().stop) continue;
      mode->meet();
      ends[static_cast<std::size_t>(group.rank())] = step;
      return;
    }
  });
  EXPECT_GE(ends[0], 5);
  EXPECT_LE(ends[0], 5 + 3 + 2);
  EXPECT_EQ(ends, std::vector<std::int64_t>(3, ends[0]));
}

// A worker's wish, and that of a server, be it the one that says when all end or another.
TEST(Async, WorkersAndServersStopAfterTheSameStep) {
  Case c = with_servers(async("sgd", 40), 5, 2);
  c.sync.set("max_lead", 3);  // else the others may be done before
  for (const int stopper : {0, 2, 3, 4}) {
    std::vector<std::int64_t> ends(5, -1);
    on_ranks(5, [&](comm::Group& group) {
      TestRank here(c, group, 1);
      const auto mode = make_sync_mode(c.sync, here.parts());
      for (int step = 0; step < c.steps; ++step) {
        StepInput input = here.input(step);
        input.stop = group.rank() == stopper && step == 5;
        if (!mode->step(input).value().stop) continue;
        mode->meet();
        ends[static_cast<std::size_t>(group.rank())] = step;
        return;
      }
    });
    EXPECT_GE(ends[0], 5) << stopper;
    EXPECT_LT(ends[0], 20) << stopper;
    EXPECT_EQ(ends, std::vector<std::int64_t>(5, ends[0])) << stopper;
  }
}

/// All ranks end at one step, of `from` or later, and no server took what is not finite.
void expect_all_hear(const Case& c, int ranks, int from) {
  const auto trained = test::train(c, ranks, 1);
  for (const Trained& rank : trained) {
    EXPECT_EQ(rank.not_finite_step, trained[0].not_finite_step);
    EXPECT_GE(rank.not_finite_step, from);
    for (const float weight : rank.parameters)
      ASSERT_TRUE(std::isfinite(weight)) << "it was not taken";
  }
}

TEST(Async, WorkersAndServersHearOfWhatIsNotFinite) {
  for (const int from : {0, 4, 11}) {  // 11: in the last step
    Case c = with_servers(async("sgd"), 4, 2);
    c.poisoned_from = from;
    c.poisoned = 20;  // of the last worker
    expect_all_hear(c, 4, from);
  }
}

TEST(Async, AllRanksHearOfWhatIsNotFinite) {
  for (const int from : {4, 11}) {  // 11: in the last step
    Case c = async("sgd");
    c.poisoned_from = from;
    c.poisoned = 20;  // of the last rank
    expect_all_hear(c, 3, from);
  }
}

TEST(Async, GoesOnFromItsStates) {
  const Case c = async("adam", 8);
  for (const int later_ranks : {2, 3}) {
    std::vector<float> weights;
    std::vector<std::vector<float>> states;
    double updates = 0;
    on_ranks(2, [&](comm::Group& group) {
      TestRank here(c, group, 1);
      const auto mode = make_sync_mode(c.sync, here.parts());
      for (int step = 0; step < c.steps; ++step)
        mode->step(here.input(step));
      mode->meet();
      mode->parameters();
      if (group.rank() != 0) return;
      weights = here.replica->parameters.read();
      for (const FlatVector& state : here.replica->states)
        states.push_back(state.read());
      updates = mode->states().at(0).doubles[0];
    });
    EXPECT_EQ(updates, 16);
    std::vector<std::vector<float>> after(static_cast<std::size_t>(later_ranks));
    on_ranks(later_ranks, [&](comm::Group& group) {
      TestRank here(c, group, 1);
      const auto mode = make_sync_mode(c.sync, here.parts());
      here.replica->parameters.write(weights.data());
      for (std::size_t i = 0; i < states.size(); ++i)
        here.replica->states[i].write(states[i].data());
      mode->states().at(0).doubles[0] = updates;
      EXPECT_TRUE(std::isfinite(mode->step(here.input(8)).value().loss));
      mode->meet();
      EXPECT_EQ(mode->states().at(0).doubles[0], updates + later_ranks);
      after[static_cast<std::size_t>(group.rank())] = here.plain_parameters();
    });
    for (const auto& rank : after)
      EXPECT_EQ(rank, after[0]);
  }
}

TEST(Async, SharesWholeParameters) {
  std::vector<ParameterInfo> infos;
  std::size_t offset = 0;
  for (const std::size_t count : {100, 10, 10, 300, 5}) {
    ParameterInfo info;
    info.offset = offset;
    info.count = count;
    offset += count;
    infos.push_back(info);
  }
  for (int servers = 1; servers <= 8; ++servers) {
    const auto ranges = share_parameters(infos, servers);
    ASSERT_EQ(ranges.size(), static_cast<std::size_t>(servers));
    int next = 0;
    std::size_t sum = 0;
    for (const ParameterRange& range : ranges) {
      EXPECT_EQ(range.first, next);
      next = range.end;
      if (range.count > 0) {
        EXPECT_EQ(range.begin, infos[static_cast<std::size_t>(range.first)].offset);
      }
      sum += range.count;
    }
    EXPECT_EQ(next, 5);
    EXPECT_EQ(sum, offset);
  }
  EXPECT_EQ(share_parameters(infos, 2)[0].count, 120u);
  // On 5 ranks, of which 2 only serve.
  const ServerRoles roles(infos, 5, 3, 2);
  EXPECT_EQ(roles.teller, 3);
  for (int rank = 0; rank < 5; ++rank) {
    EXPECT_EQ(roles.works(rank), rank < 3);
    EXPECT_EQ(roles.serves(rank), rank >= 3);
    EXPECT_EQ(roles.ranges[static_cast<std::size_t>(rank)].count,
              rank < 3 ? 0u : share_parameters(infos, 2)[static_cast<std::size_t>(rank - 3)].count);
  }
  EXPECT_EQ(shards_of_workers(5, 2, 8), (std::vector<int>{0, 2, 5, 8, 8, 8}));
  EXPECT_EQ(shards_of_workers(3, 0, 6), (std::vector<int>{0, 2, 4, 6}));
}

TEST(Async, SaysWhatItCannotDo) {
  const auto refusal = [](const auto& change, Map sync = {{"mode", "async"}}) {
    return test::refusal_of(sync, change);
  };
  const auto nothing = [](SyncFacts&) {};
  EXPECT_EQ(refusal(nothing), "");
  EXPECT_THAT(refusal(nothing, {{"mode", "async"}, {"compress", "bf16"}}), HasSubstr("compress"));
  EXPECT_THAT(refusal(nothing, {{"mode", "async"}, {"compare_every", 5}}), HasSubstr("compare"));
  EXPECT_THAT(refusal([](SyncFacts& f) { f.joins_shards = true; }), HasSubstr("sync_batch_norm"));
  EXPECT_THAT(refusal([](SyncFacts& f) { f.observes_curvature = true; }), HasSubstr("curvature"));
  EXPECT_THAT(refusal([](SyncFacts& f) { f.keeps_scalars = true; }), HasSubstr("numbers"));
  EXPECT_EQ(refusal([](SyncFacts& f) { f.on_gpu = true; }), "");
  EXPECT_THAT(refusal([](SyncFacts& f) { f.touches_all = false; }), HasSubstr("leave parameters"));
  const auto on_four = [](SyncFacts& facts) { facts.ranks = 4; };
  EXPECT_EQ(refusal(on_four, {{"mode", "async"}, {"servers", 3}}), "");
  EXPECT_THAT(refusal(on_four, {{"mode", "async"}, {"servers", 4}}),
              HasSubstr("sync.servers: 4 servers leave no worker, there are 4 ranks; set it to 3"));
  EXPECT_THAT(refusal(nothing, {{"mode", "async"}, {"servers", 1}}), HasSubstr("leave it out"));
}

}  // namespace
}  // namespace thalweg::engine
