// The mode abs: the replay of its recorded passes, lag where every rank makes one pass a round, and
// the account of samples.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/sync/emulate.h"
#include "engine/sync/sample_deal.h"
#include "engine/tensor/random.h"
#include "tests/engine/sync/rounds.h"
#include "tests/engine/sync/support.h"

namespace thalweg::engine {
namespace {

using jobspec::Map;
using test::Case;
using test::go_on;
using test::on_ranks;
using test::TestRank;
using testing::HasSubstr;
using namespace test::rounds;

/// Not more than have been dealt: at most 2 where there was 1 before.
std::vector<std::vector<int>> some_passes(int ranks, int rounds) {
  std::vector<std::vector<int>> passes;
  for (int round = 0; round < rounds; ++round) {
    auto& row = passes.emplace_back();
    for (int rank = 0; rank < ranks; ++rank)
      row.push_back(1 + (round * (rank + 2) + rank) % 3 / (round == 0 ? 3 : 1) % 2);
  }
  return passes;
}

TEST(Abs, OnePassInEachRoundIsLag) {
  for (const char* optimizer : {"sgd", "momentum", "adam"}) {
    const Case c = abs_case(optimizer, 1);
    Case lag = c;
    lag.sync.set("mode", "lag");
    const Curve expected = run(lag, 1).curve;
    for (const int ranks : {1, 2, 3})
      for (const int settles : {1, 4, 100})
        EXPECT_EQ(run(c, ranks, {}, settles).curve, expected)
            << optimizer << ", " << ranks << " ranks, settled every " << settles;
  }
  Case unequal = abs_case("momentum", 1);
  Case lag = unequal;
  lag.sync.set("mode", "lag");
  const Curve expected = run(lag, 1).curve;
  unequal.firsts = {0, 1, 4};
  EXPECT_EQ(run(unequal, 2).curve, expected);
}

TEST(Abs, ClipsAsLagDoes) {
  Case c = abs_case("momentum", 1);
  c.clip_norm = 0.1;
  c.clip_value = 0.02;
  Case lag = c;
  lag.sync.set("mode", "lag");
  const Curve clipped = run(c, 2).curve;
  EXPECT_EQ(clipped, run(lag, 2).curve);
  c.clip_norm = c.clip_value = 0;
  EXPECT_NE(run(c, 2).curve, clipped);
}

TEST(Abs, IsTheReplayOfItsPasses) {
  for (const int ranks : {1, 2, 3, 4})
    for (const char* optimizer : {"momentum", "adam"}) {
      const Case c = abs_case(optimizer);
      const auto passes = some_passes(ranks, c.steps);
      const Record found = run(c, ranks, passes);
      EXPECT_EQ(passes_of(found.rounds), passes);
      EXPECT_EQ(found.curve, replay(c, found)) << optimizer << " on " << ranks;
      EXPECT_EQ(run(c, ranks, passes, 3).curve, found.curve) << "settling changes nothing";
    }
  Case unequal = abs_case("momentum");
  unequal.firsts = {0, 1, 4};
  const Record found = run(unequal, 2, some_passes(2, unequal.steps));
  EXPECT_EQ(found.curve, replay(unequal, found));
}

/// Rank 0 pauses in every round.
Emulation slow_rank() {
  Emulation emulation;
  emulation.pause_every = 1;
  emulation.pause_ms = 10;
  emulation.pauses = {1, 0};
  return emulation;
}

TEST(Abs, IsTheReplayOfWhatItHasRecorded) {
  const Emulation emulation = slow_rank();
  Case c = abs_case("momentum", 0, 12);
  c.emulation = &emulation;
  const Record found = run(c, 2);
  int most = 0;
  for (const Round& round : found.rounds)
    most = std::max(most, round.passes[1]);
  EXPECT_GT(most, 1) << "nothing is unequal";
  EXPECT_EQ(found.curve, replay(c, found));
  c.emulation = nullptr;
  EXPECT_EQ(run(c, 2, passes_of(found.rounds)).curve, found.curve);
}

// How long ranks wait is told by the simulator's tests, whose clock no other process slows.
TEST(Abs, TellsOfItsRoundsAndHowLateItsGradientsAre) {
  const Emulation emulation = slow_rank();
  Case c = abs_case("sgd", 0, 60);
  c.emulation = &emulation;
  const Record free = run(c, 2);
  c.sync.set("passes", 1);
  const Record equal = run(c, 2);
  const auto number = [&](const Record& of, const std::string& name) {
    for (const auto& [metric, value] : of.measured)
      if (metric == name) return value;
    return -1.0;
  };
  EXPECT_EQ(number(free, "sync/staleness_max"), 1);
  EXPECT_EQ(number(free, "sync/staleness_p50"), 1);
  EXPECT_GE(number(free, "sync/passes_min"), 1);
  EXPECT_GE(number(free, "sync/round_size"), test::kBatch);
  EXPECT_EQ(number(equal, "sync/passes_max"), 1);
  EXPECT_EQ(number(equal, "sync/round_size"), test::kBatch);
}

TEST(Abs, TakesEachSampleOnce) {
  const Emulation emulation = slow_rank();
  Case c = abs_case("sgd", 0, 20);
  c.emulation = &emulation;
  const Record found = run(c, 2);
  std::vector<std::int64_t> taken;
  for (const auto& rank : found.taken)
    for (const auto& hand : rank)
      taken.insert(taken.end(), hand.begin(), hand.end());
  std::sort(taken.begin(), taken.end());
  EXPECT_EQ(std::adjacent_find(taken.begin(), taken.end()), taken.end()) << "none twice";
  std::int64_t samples = 0;
  for (const Round& round : found.rounds)
    samples += round.samples;
  EXPECT_EQ(samples, static_cast<std::int64_t>(taken.size()) * test::kBatch / c.shards);
}

TEST(SampleDeal, DealsEachShardOnce) {
  SampleDeal deal({1, 3, 2}, 1, 12);
  std::vector<std::int64_t> used;
  for (std::uint32_t round = 0; round < 190; ++round) {
    std::vector<int> passes;
    for (int rank = 0; rank < 3; ++rank) {
      const auto& own = deal.of(rank);
      const auto most = static_cast<std::uint32_t>(std::min<std::size_t>(own.size(), 6));
      const int made = 1 + static_cast<int>(philox(1, Stream::noise, round, 7)[rank] % most);
      for (int i = 0; i < made; ++i) {
        const SampleDeal::Hand& hand = own[static_cast<std::size_t>(i)];
        used.insert(used.end(), hand.begin(), hand.end());
      }
      passes.push_back(made);
    }
    deal.used(passes);
    if (round % 50 == 49) {
      // On with three other ranks; then with these again.
      SampleDeal other({2, 2, 2}, 1, 0), back({1, 3, 2}, 1, 0);
      other.restore(deal.state(), 0);
      back.restore(other.state(), 0);
      deal = back;
    }
  }
  for (int rank = 0; rank < 3; ++rank)
    for (const SampleDeal::Hand& hand : deal.of(rank))
      used.insert(used.end(), hand.begin(), hand.end());
  std::sort(used.begin(), used.end());
  EXPECT_GT(used.size(), 1000u);
  EXPECT_EQ(std::adjacent_find(used.begin(), used.end()), used.end()) << "none twice";
  EXPECT_EQ(used.front(), 12);
  EXPECT_EQ(used.back(), 12 + static_cast<std::int64_t>(used.size()) - 1) << "none left out";
}

TEST(SampleDeal, RefusesACutOffAccount) {
  SampleDeal deal({1, 1}, 1, 0);
  std::vector<double> state = deal.state();
  state.pop_back();
  EXPECT_THROW(deal.restore(state, 0), std::invalid_argument);
  EXPECT_THROW(deal.used({1, 5}), std::logic_error);
}

// The gradient that waits, the account of samples, momentum, the count of updates and what was
// measured go through it.
TEST(Abs, GoesOnFromACheckpoint) {
  const Case c = abs_case("adam");
  const auto passes = some_passes(2, c.steps);
  const Record expected = run(c, 2, passes);
  for (const int at : {1, 2, 5})
    with_all_samples(c, [&](const TestRank& every) {
      on_ranks(2, [&](comm::Group& group) {
        const auto rank = static_cast<std::size_t>(group.rank());
        TestRank before(c, group, 1), after(c, group, 1);
        const auto make = [&](TestRank& of) {
          SyncParts parts = of.parts();
          parts.passes = [&](std::int64_t round) {
            return passes[static_cast<std::size_t>(round)][rank];
          };
          return make_sync_mode(c.sync, parts);
        };
        Samples first_samples(every, c.shards, before), second_samples(every, c.shards, after);
        const auto first = make(before);
        for (int step = 0; step < at; ++step) {
          StepInput input = before.input(step);
          input.source = &first_samples;
          first->step(input);
        }
        first->settle();
        const auto second = make(after);
        go_on(before, *first, after, *second);
        for (int step : {at - 1, at, at + 1})
          EXPECT_EQ(second->base_steps(step), first->base_steps(step));
        for (int step = at; step < c.steps; ++step) {
          StepInput input = after.input(step);
          input.source = &second_samples;
          second->step(input);
        }
        second->settle();
        auto taken = first_samples.taken;
        taken.insert(taken.end(), second_samples.taken.begin(), second_samples.taken.end());
        EXPECT_EQ(taken, expected.taken[rank]);
        if (rank == 0) {
          EXPECT_EQ(after.plain_parameters(), expected.curve.parameters) << at;
          EXPECT_EQ(second->measured(), expected.measured) << at;
        }
      });
    });
}

TEST(Abs, FixedPassesHaveTheSameBitsOnAnyRanks) {
  const Case c = abs_case("momentum", 3);
  const Curve expected = run(c, 1).curve;
  for (const int ranks : {2, 3, 4})
    EXPECT_EQ(run(c, ranks).curve, expected) << ranks;
  EXPECT_NE(run(abs_case("momentum", 1), 1).curve, expected);
}

// The trial ends where its samples are used up, and applies the last round too.
TEST(Abs, EndsByItsSamples) {
  const Case one = abs_case("momentum", 1, 100);
  Case lag = one;
  lag.sync = Map{{"mode", "lag"}, {"cooldown_steps", 1}};
  lag.steps = 7;
  const Record found = run(one, 2, {}, 100, 7);
  EXPECT_EQ(found.end, (std::vector<std::int64_t>{7, 7}));
  EXPECT_EQ(found.curve, run(lag, 1, {}, 100, 7).curve);

  Case c = abs_case("momentum", 0, 100);
  const std::vector<std::vector<int>> passes{{1, 1}, {1, 3}, {2, 1}, {1, 2}, {1, 4}, {1, 1}};
  const Record shorter = run(c, 2, passes, 100, 7);
  // 1 + 2 + 1.5 global batches are known in step 3, 6 in step 4, where there is one more at least.
  EXPECT_EQ(shorter.end, (std::vector<std::int64_t>{5, 5}));
  EXPECT_EQ(shorter.rounds.size(), 5u);
  EXPECT_EQ(shorter.curve, replay(c, shorter, true));
}

TEST(Abs, OneRanksWishToStopReachesAllInTheSameStep) {
  Case c = abs_case("sgd", 0, 30);
  std::vector<int> ends(3, -1);
  with_all_samples(c, [&](const TestRank& every) {
    on_ranks(3, [&](comm::Group& group) {
      TestRank here(c, group, 1);
      Samples samples(every, c.shards, here);
      const auto mode = make_sync_mode(c.sync, here.parts());
      for (int step = 0; step < c.steps; ++step) {
        StepInput input = here.input(step);
        input.source = &samples;
        input.stop = group.rank() == 2 && step == 5;
        if (const auto outcome = mode->step(input); !outcome || !outcome->stop) continue;
        mode->settle();
        ends[static_cast<std::size_t>(group.rank())] = step;
        return;
      }
    });
  });
  EXPECT_EQ(ends, std::vector<int>(3, 6));
}

TEST(Abs, NamesWhatIsNotFinite) {
  Case c = abs_case("sgd", 1);
  c.poisoned_from = 4;
  std::vector<std::int64_t> found(2, -1);
  with_all_samples(c, [&](const TestRank& every) {
    on_ranks(2, [&](comm::Group& group) {
      TestRank here(c, group, 1);
      Samples samples(every, c.shards, here);
      const auto mode = make_sync_mode(c.sync, here.parts());
      std::int64_t& at = found[static_cast<std::size_t>(group.rank())];
      for (int step = 0; step < c.steps && at < 0; ++step) {
        StepInput input = here.input(step);
        input.source = &samples;
        if (const auto outcome = mode->step(input); outcome && !outcome->not_finite.empty())
          at = outcome->step;
      }
      mode->settle();
    });
  });
  EXPECT_EQ(found, (std::vector<std::int64_t>{4, 4}));
}

TEST(Abs, SaysWhatItCannotDo) {
  const auto refusal = [](const auto& change, Map more = {}) {
    more.emplace_back("mode", "abs");
    return test::refusal_of(more, change);
  };
  const auto nothing = [](SyncFacts&) {};
  EXPECT_EQ(refusal(nothing), "");
  EXPECT_EQ(refusal([](SyncFacts& f) { f.on_gpu = true; }), "");
  EXPECT_THAT(refusal([](SyncFacts& f) { f.joins_shards = true; }), HasSubstr("sync_batch_norm"));
  EXPECT_THAT(refusal([](SyncFacts& f) { f.observes_curvature = true; }), HasSubstr("curvature"));
  EXPECT_THAT(refusal([](SyncFacts& f) { f.touches_all = false; }), HasSubstr("uses all"));
  EXPECT_THAT(refusal([](SyncFacts& f) { f.min_shards = 0; }), HasSubstr("batch.shares"));
  EXPECT_THAT(refusal(nothing, Map{{"compress", "bf16"}}), HasSubstr("sync.compress"));
}

}  // namespace
}  // namespace thalweg::engine
