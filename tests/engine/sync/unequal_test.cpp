// Unequal ranks: any ownership of the shards gives the bits of equal ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/sync/mode.h"
#include "tests/engine/sync/support.h"

namespace thalweg::engine {
namespace {

using jobspec::Map;
using test::Case;
using test::Trained;
using testing::HasSubstr;

// Speeds 1:1:2:4, ranks that only run along (the first, the last, all but one).
const std::vector<std::vector<int>> kTables = {
    {0, 1, 2, 4, 8}, {0, 5, 8}, {0, 0, 3, 8}, {0, 8, 8}, {0, 0, 8, 8}};

Case case_of(const Map& sync) {
  Case c = test::batch_norm_and_dropout();
  c.shards = 8;
  c.sync = sync;
  c.clip_norm = 0.5;
  c.steps = 5;
  return c;
}

TEST(UnequalRanks, HaveTheBitsOfEqualOnes) {
  for (const Map& sync :
       {Map{}, Map{{"mode", "lag"}, {"lag", 2}}, Map{{"overlap", false}},
        Map{{"first_bucket_mib", 0.0001}, {"bucket_mib", 0.0001}, {"priority", "forward"}}}) {
    Case c = case_of(sync);
    const Trained expected = test::train(c, 1, 1)[0];
    EXPECT_EQ(test::train(c, 3, 1)[0], expected);
    for (const std::vector<int>& first : kTables)
      for (const int threads : {1, 2}) {
        c.firsts = first;
        for (const Trained& rank : test::train(c, static_cast<int>(first.size()) - 1, threads))
          EXPECT_EQ(rank, expected) << jobspec::Value(sync).to_json();
      }
  }
}

// A parameter that only some samples touch, and micro-batches.
TEST(UnequalRanks, ShareWhatOnlySomeShardsTouch) {
  Case c = case_of({});
  c.micro_batches = 3;
  c.wrap = [](std::unique_ptr<Model> model) {
    test::Rewired how;
    how.order = model->ready_order();
    how.touches = [](int parameter, const Batch& batch) {
      return parameter != 2 || batch.first_sample >= 20;
    };
    return test::rewire(std::move(model), how);
  };
  const Trained expected = test::train(c, 1, 1)[0];
  for (const std::vector<int>& first : kTables) {
    c.firsts = first;
    EXPECT_EQ(test::train(c, static_cast<int>(first.size()) - 1, 1)[0], expected);
  }
}

TEST(UnequalRanks, AWishToStopOfOneWithoutShardsIsHeard) {
  for (const char* mode : {"sync", "lag"}) {
    Case c = case_of({{"mode", mode}});
    c.firsts = {0, 0, 3, 8};
    for (const int stopper : {0, 2})
      for (const Trained& rank : test::train(c, 3, 1, stopper))
        EXPECT_TRUE(rank.stopped) << mode << " " << stopper;
    for (const Trained& rank : test::train(c, 3, 1))
      EXPECT_FALSE(rank.stopped);
  }
}

TEST(UnequalRanks, AreRefusedByWhatNeedsAShardOnEach) {
  SyncFacts facts;
  facts.ranks = 2;
  facts.min_shards = 0;
  EXPECT_NO_THROW(require_sync(Map{}, facts));
  EXPECT_NO_THROW(require_sync(Map{{"mode", "lag"}}, facts));
  const auto refused = [&](const Map& sync) {
    try {
      require_sync(sync, facts);
      ADD_FAILURE() << jobspec::Value(sync).to_json();
    } catch (const std::invalid_argument& error) {
      EXPECT_THAT(error.what(), HasSubstr("batch.shares: some rank has no shard"));
    }
  };
  refused({{"mode", "local"}});
  refused({{"mode", "adasum"}});
  refused({{"sum", "ranks"}});
  refused({{"compress", "bf16"}});
  refused({{"mode", "lag"}, {"compress", "bf16"}});
  facts.joins_shards = true;
  refused({});
  facts.joins_shards = false;
  facts.on_gpu = true;
  refused({});
}

}  // namespace
}  // namespace thalweg::engine
