// Shards that meet in the middle of a pass: batch normalisation over the whole batch.
#include "engine/sync/rendezvous.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "engine/device/meeting.h"
#include "jobspec/value.h"
#include "tests/engine/sync/support.h"

namespace thalweg::engine {
namespace {

using jobspec::List;
using jobspec::Map;
using test::Case;
using test::train;
using test::Trained;

Case synchronised(int shards) {
  Case c{Map{{"name", "mlp"},
             {"hidden", List{8, 5}},
             {"batch_norm", true},
             {"sync_batch_norm", true},
             {"dropout", 0.2}}};
  c.shards = shards;
  c.noise_every = 0;
  return c;
}

TEST(Rendezvous, SumsAreTheSameForAllShardsAgainAndAgain) {
  for (const int ranks : {1, 2, 3}) {
    test::on_ranks(ranks, [&](comm::Group& group) {
      constexpr int kShards = 5, kSums = 200;
      const int first = comm::Group::first_shard(group.rank(), ranks, kShards);
      const int local = comm::Group::first_shard(group.rank() + 1, ranks, kShards) - first;
      Rendezvous meeting(group, kShards, local);
      EXPECT_EQ(meeting.shards(), kShards);
      std::vector<std::thread> threads;
      for (int shard = 0; shard < local; ++shard)
        threads.emplace_back([&, shard] {
          for (int s = 0; s < kSums; ++s) {
            std::vector<float> values(static_cast<std::size_t>(1 + s % 3),
                                      static_cast<float>((first + shard + 1) * (s + 1)));
            meeting.sum(shard, values.data(), values.size());
            for (const float value : values)
              ASSERT_EQ(value, static_cast<float>(15 * (s + 1)));
          }
        });
      for (std::thread& thread : threads)
        thread.join();
    });
  }
}

TEST(Rendezvous, NobodyWaitsForAShardThatFailed) {
  test::on_ranks(1, [](comm::Group& group) {
    Rendezvous meeting(group, 2, 2);
    std::thread waits([&] {
      float value = 1;
      EXPECT_THROW(meeting.sum(0, &value, 1), std::runtime_error);
    });
    meeting.abandon();
    waits.join();
    meeting.reset();
    std::thread again([&] {
      float value = 1;
      meeting.sum(0, &value, 1);
      EXPECT_EQ(value, 3);
    });
    float value = 2;
    meeting.sum(1, &value, 1);
    again.join();
  });
}

TEST(SyncBatchNorm, BitsDoNotDependOnTheNumberOfRanks) {
  const Trained alone = train(synchronised(4), 1, 4)[0];
  for (const int ranks : {2, 3, 4})
    for (const Trained& result : train(synchronised(4), ranks, 4))
      EXPECT_EQ(result, alone) << ranks;
}

TEST(SyncBatchNorm, IsThatOfOneShardWithTheWholeBatch) {
  const Trained whole = train(synchronised(1), 1, 1)[0];
  for (const int shards : {2, 4, 6}) {
    const Trained parts = train(synchronised(shards), 2, 6)[0];
    for (std::size_t i = 0; i < whole.parameters.size(); ++i)
      EXPECT_NEAR(parts.parameters[i], whole.parameters[i], 2e-5) << shards;
    for (std::size_t i = 0; i < whole.running.size(); ++i)
      EXPECT_NEAR(parts.running[i], whole.running[i], 2e-5) << shards;
  }
  // Which is something else than every shard by itself.
  Case apart = synchronised(4);
  apart.model.set("sync_batch_norm", false);
  EXPECT_GT(std::abs(train(apart, 1, 1)[0].parameters[0] - whole.parameters[0]), 1e-4f);
}

TEST(SyncBatchNorm, SaysWhatItNeeds) {
  const auto complaint = [](const Case& c, int threads) -> std::string {
    try {
      train(c, 1, threads);
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_THAT(complaint(synchronised(4), 2), testing::HasSubstr("4 shards, there are 2"));
  Case c = synchronised(4);
  c.micro_batches = 2;
  EXPECT_THAT(complaint(c, 4), testing::HasSubstr("sync.accumulate"));
}

TEST(SyncBatchNorm, AFailingShardEndsTheStep) {
  test::on_ranks(1, [](comm::Group& group) {
    const Case c = synchronised(4);
    test::TestRank rank(c, group, 4);
    const auto mode = make_sync_mode(c.sync, rank.parts());
    StepInput input = rank.input(0);
    std::vector<std::int32_t> labels(input.labels, input.labels + test::kBatch);
    labels[7] = 99;
    input.labels = labels.data();
    EXPECT_ANY_THROW(mode->step(input));
  });
}

}  // namespace
}  // namespace thalweg::engine
