// The mode hybrid: synchronous within a group of ranks, the replay of the arrivals among groups.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>
#include <utility>

#include "engine/sync/emulate.h"
#include "tests/engine/sync/arrivals.h"

namespace thalweg::engine {
namespace {

using jobspec::Map;
using test::Case;
using test::on_ranks;
using test::replay;
using test::run;
using test::TestRank;
using test::Trace;
using test::Trained;
using test::with_servers;
using testing::HasSubstr;

Case hybrid(const char* optimizer, int groups, int steps = 12) {
  Case c = test::batch_norm_and_dropout();
  c.optimizer = Map{{"name", optimizer}};
  c.sync = Map{{"mode", "hybrid"}, {"groups", groups}};
  c.steps = steps;
  c.noise_every = 0;
  return c;
}

TEST(Hybrid, GroupsAreNeighbours) {
  EXPECT_EQ(make_rank_groups(4, 2), (std::vector<RankGroup>{{0, 1}, {2, 3}}));
  EXPECT_EQ(make_rank_groups(5, 2), (std::vector<RankGroup>{{0, 1}, {2, 3, 4}}));
  EXPECT_EQ(make_rank_groups(3, 3), (std::vector<RankGroup>{{0}, {1}, {2}}));
  const auto rank_groups = make_rank_groups(5, 2);
  EXPECT_EQ(rank_group_of(rank_groups, 1), 0u);
  EXPECT_EQ(rank_group_of(rank_groups, 2), 1u);
  // A server has the sum of its own group; of another one the senders take turns.
  EXPECT_EQ(pusher_of(rank_groups[1], 3), 3);
  EXPECT_EQ(pusher_of(rank_groups[0], 3), 1);
  EXPECT_EQ(pusher_of(rank_groups[0], 4), 0);
  EXPECT_EQ(pusher_of(rank_groups[1], 1), 3);
}

TEST(Hybrid, OneGroupIsSynchronous) {
  for (const char* optimizer : {"momentum", "adam", "lamb"})
    for (const int ranks : {1, 2, 3, 4}) {
      Case plain = hybrid(optimizer, 1);
      plain.sync = Map{};
      const auto expected = test::train(plain, 1, 1)[0];
      for (const Trained& rank : test::train(hybrid(optimizer, 1), ranks, 1))
        EXPECT_EQ(rank, expected) << optimizer << " on " << ranks;
    }
}

TEST(Hybrid, OneGroupIsSynchronousWhateverServes) {
  for (const char* optimizer : {"momentum", "adam", "lamb"})
    for (const auto& [ranks, servers] : {std::pair{2, 1}, std::pair{4, 1}, std::pair{5, 2}}) {
      Case plain = hybrid(optimizer, 1);
      plain.sync = Map{};
      const Trained expected = test::train(plain, ranks - servers, 1)[0];
      const auto trained =
          test::train(with_servers(hybrid(optimizer, 1), ranks, servers), ranks, 1);
      for (int rank = 0; rank < ranks; ++rank) {
        const Trained& found = trained[static_cast<std::size_t>(rank)];
        EXPECT_EQ(found.parameters, expected.parameters) << optimizer << " " << ranks;
        EXPECT_EQ(found.running, expected.running) << optimizer << " " << ranks;
        if (rank < ranks - servers) {
          EXPECT_EQ(found.losses, expected.losses);
        }
      }
    }
}

TEST(Hybrid, WithServersApartIsTheReplayOfItsArrivals) {
  for (const auto& [ranks, groups, servers] :
       {std::tuple{4, 2, 1}, std::tuple{6, 2, 2}, std::tuple{5, 2, 2}})
    for (const char* optimizer : {"momentum", "adam"}) {
      const Case c = with_servers(hybrid(optimizer, groups), ranks, servers);
      const Trace found = run(c, ranks);
      for (int rank = ranks - servers; rank < ranks; ++rank)
        ASSERT_EQ(found.arrivals[static_cast<std::size_t>(rank)].size(),
                  static_cast<std::size_t>(groups * c.steps))
            << "each taken once";
      for (const auto& parameters : found.parameters)
        EXPECT_EQ(parameters, found.parameters[0]) << "all have the same after they have met";
      EXPECT_EQ(found.parameters[0], replay(c, found.arrivals, groups, false, servers))
          << optimizer << " " << ranks << " in " << groups << " with " << servers;
    }
}

TEST(Hybrid, OneGroupClipsAsSynchronousDoes) {
  Case plain = hybrid("momentum", 1);
  plain.clip_norm = 0.5;
  const Case one = plain;
  plain.sync = Map{};
  EXPECT_EQ(test::train(one, 3, 1)[0], test::train(plain, 1, 1)[0]);
}

TEST(Hybrid, IsTheReplayOfItsArrivals) {
  for (const auto& [ranks, groups] :
       {std::pair{2, 2}, std::pair{4, 2}, std::pair{3, 2}, std::pair{4, 3}})
    for (const char* optimizer : {"momentum", "adam"}) {
      const Case c = hybrid(optimizer, groups);
      const Trace found = run(c, ranks);
      for (const auto& order : found.arrivals)
        ASSERT_EQ(order.size(), static_cast<std::size_t>(groups * c.steps)) << "each taken once";
      for (const auto& parameters : found.parameters)
        EXPECT_EQ(parameters, found.parameters[0]) << "all have the same after they have met";
      EXPECT_EQ(found.parameters[0], replay(c, found.arrivals, groups, false))
          << optimizer << " " << ranks << " in " << groups;
    }
}

// One is slowed: the other does not wait for it but at the end.
TEST(Hybrid, GroupsDoNotWaitForEachOther) {
  Emulation emulation;
  emulation.pause_every = 1;
  emulation.pause_ms = 20;
  emulation.pauses = {0, 0, 0, 1};
  Case c = hybrid("sgd", 2, 20);
  c.emulation = &emulation;
  const Trace found = run(c, 4);
  std::int64_t lead = 0, steps[2] = {-1, -1};
  for (const Arrival& a : found.arrivals[0]) {
    steps[a.worker] = a.step;
    lead = std::max(lead, a.step - std::min(steps[0], steps[1]));
  }
  EXPECT_GT(lead, 3);
  EXPECT_EQ(found.parameters[0], replay(c, found.arrivals, 2, false));
}

TEST(Hybrid, OneRanksWishToStopEndsAll) {
  Case c = hybrid("sgd", 2, 30);
  c.sync.set("max_lead", 3);  // else the others may be done before
  std::vector<std::int64_t> ends(4, -1);
  on_ranks(4, [&](comm::Group& group) {
    TestRank here(c, group, 1);
    const auto mode = make_sync_mode(c.sync, here.parts());
    for (int step = 0; step < c.steps; ++step) {
      StepInput input = here.input(step);
      input.stop = group.rank() == 3 && step == 5;
      if (!mode->step(input).value().stop) continue;
      mode->meet();
      ends[static_cast<std::size_t>(group.rank())] = step;
      return;
    }
  });
  EXPECT_GE(ends[0], 5);
  EXPECT_LE(ends[0], 5 + 3 + 2);
  EXPECT_EQ(ends, std::vector<std::int64_t>(4, ends[0]));
}

TEST(Hybrid, AllRanksHearOfWhatIsNotFinite) {
  Case c = hybrid("sgd", 2);
  c.poisoned_from = 4;
  c.poisoned = 20;  // of the last rank
  const auto trained = test::train(c, 4, 1);
  for (const Trained& rank : trained) {
    EXPECT_EQ(rank.not_finite_step, trained[0].not_finite_step);
    EXPECT_GE(rank.not_finite_step, 4);
    for (const float weight : rank.parameters)
      ASSERT_TRUE(std::isfinite(weight)) << "it was not taken";
  }
}

TEST(Hybrid, SaysWhatItCannotDo) {
  const auto refusal = [](int groups, int ranks, const char* exchange = "auto") {
    const Map sync{{"mode", "hybrid"}, {"groups", groups}, {"gpu_exchange", exchange}};
    return test::refusal_of(sync, [&](SyncFacts& facts) {
      facts.ranks = ranks;
      facts.on_gpu = exchange != std::string("auto");
    });
  };
  EXPECT_EQ(refusal(4, 4), "");
  EXPECT_THAT(refusal(5, 4), HasSubstr("sync.groups: 5 groups need as many ranks"));
  const auto with_server = [](int groups) {
    return test::refusal_of(Map{{"mode", "hybrid"}, {"groups", groups}, {"servers", 1}},
                            [](SyncFacts& facts) { facts.ranks = 4; });
  };
  EXPECT_EQ(with_server(3), "");
  EXPECT_THAT(with_server(4), HasSubstr("there are 3 beside those of sync.servers; set it to 3"));
  EXPECT_THAT(refusal(2, 4, "nccl"), HasSubstr("sync.gpu_exchange: nccl's sums"));
  EXPECT_EQ(refusal(2, 4, "host"), "");
  EXPECT_EQ(refusal(4, 4, "nccl"), "") << "groups of one have no sums";
}

}  // namespace
}  // namespace thalweg::engine
