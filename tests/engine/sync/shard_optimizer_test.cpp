// ZeRO-1: each rank updates its part of the weights, with the bits of ranks that update all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/sync/mode.h"
#include "tests/engine/sync/support.h"

namespace thalweg::engine {
namespace {

using jobspec::Map;
using test::Case;
using test::TestRank;
using test::Trained;
using testing::HasSubstr;

Case sharded_case(const char* optimizer) {
  Case c = test::batch_norm_and_dropout();
  c.optimizer = Map{{"name", optimizer}};
  c.shards = 8;
  c.steps = 6;
  return c;
}

TEST(ShardOptimizer, HasTheSameBits) {
  for (const char* optimizer : {"sgd", "momentum", "nesterov", "adam", "adamw", "lion", "rmsprop"})
    for (const double clip : {0.0, 0.3}) {
      Case c = sharded_case(optimizer);
      c.clip_norm = clip;
      c.clip_value = clip;
      const Trained expected = test::train(c, 1, 1)[0];
      for (const Map& more : {Map{}, Map{{"overlap", false}},
                              Map{{"first_bucket_mib", 0.0001}, {"bucket_mib", 0.0001}}}) {
        c.sync = more;
        c.sync.set("shard_optimizer", true);
        for (const int ranks : {1, 2, 3, 4})
          for (const Trained& rank : test::train(c, ranks, 2))
            EXPECT_EQ(rank, expected) << optimizer << " on " << ranks;
      }
      c.firsts = {0, 0, 3, 8};
      EXPECT_EQ(test::train(c, 3, 1)[2], expected) << "unequal ranks";
    }
}

/// The optimizer's states after all steps, by rank.
struct States {
  std::vector<std::vector<float>> here;
  comm::Group::Segment part{};
};

std::vector<States> states_after(const Case& c, int ranks) {
  std::vector<States> all(static_cast<std::size_t>(ranks));
  test::on_ranks(ranks, [&](comm::Group& group) {
    TestRank rank(c, group, 1);
    const auto mode = make_sync_mode(c.sync, rank.parts());
    for (int step = 0; step < c.steps; ++step)
      mode->step(rank.input(step));
    States& mine = all[static_cast<std::size_t>(group.rank())];
    mine.part = group.segment(rank.model->parameter_floats(), group.rank());
    for (const FlatVector& state : rank.replica->states)
      mine.here.push_back(state.read());
  });
  return all;
}

TEST(ShardOptimizer, ARankKeepsTheStatesOfItsPartOnly) {
  Case c = sharded_case("adam");
  const std::vector<std::vector<float>> expected = states_after(c, 1)[0].here;
  ASSERT_EQ(expected.size(), 2u);
  c.sync = Map{{"shard_optimizer", true}};
  for (const States& rank : states_after(c, 3))
    for (std::size_t state = 0; state < expected.size(); ++state)
      for (std::size_t i = 0; i < expected[state].size(); ++i) {
        const bool inside = i >= rank.part.begin && i < rank.part.begin + rank.part.count;
        EXPECT_EQ(rank.here[state][i], inside ? expected[state][i] : 0) << i;
      }
}

TEST(ShardOptimizer, AParameterThatIsNotFiniteStaysOnAllRanks) {
  Case c = sharded_case("adamw");
  c.poisoned_from = 3;
  const Trained expected = test::train(c, 1, 1)[0];
  EXPECT_EQ(expected.not_finite_step, 3);
  c.sync = Map{{"shard_optimizer", true}};
  for (const Trained& rank : test::train(c, 3, 1)) {
    EXPECT_EQ(rank.not_finite, expected.not_finite);
    EXPECT_EQ(rank.not_finite_step, 3);
    EXPECT_EQ(rank.parameters, expected.parameters);
  }
}

TEST(ShardOptimizer, IsRefusedWhereItCannotBe) {
  const auto refused = [](const Map& sync, const SyncFacts& facts, const char* why) {
    Map asked = sync;
    asked.emplace_back("shard_optimizer", true);
    try {
      require_sync(asked, facts);
      ADD_FAILURE() << why;
    } catch (const std::invalid_argument& error) {
      EXPECT_THAT(error.what(), HasSubstr("sync.shard_optimizer: "));
      EXPECT_THAT(error.what(), HasSubstr(why));
    }
  };
  SyncFacts facts;
  facts.ranks = 2;
  EXPECT_NO_THROW(require_sync(Map{{"shard_optimizer", true}}, facts));
  for (const char* mode : {"lag", "local", "adasum"})
    refused({{"mode", mode}}, facts, mode);
  SyncFacts gpu = facts, whole = facts, elsewhere = facts;
  gpu.on_gpu = true;
  whole.elementwise = false;
  elsewhere.has_eval_weights = true;
  refused({}, gpu, "device to cpu");
  refused({}, whole, "whole tensors");
  refused({}, elsewhere, "validation");
}

TEST(ShardOptimizer, KnowsWhichOptimizersAreElementwise) {
  for (const auto& [name, elementwise] : {std::pair{"adamw", true},
                                          {"sgd", true},
                                          {"lamb", false},
                                          {"lars", false},
                                          {"shampoo", false},
                                          {"prodigy", false},
                                          {"adafactor", false},
                                          {"muon", false}}) {
    const Case c = sharded_case(name);
    test::on_ranks(1, [&, expected = elementwise](comm::Group& group) {
      TestRank here(c, group, 1);
      EXPECT_EQ(is_elementwise(*here.optimizer, here.model->parameters().size()), expected)
          << c.optimizer.to_json();
    });
  }
}

}  // namespace
}  // namespace thalweg::engine
