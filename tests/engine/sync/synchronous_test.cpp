// The synchronous mode with ranks as threads: the same bits for every number of ranks and lanes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <thread>

#include "engine/data/dataset.h"
#include "engine/optim/table.h"
#include "engine/sync/mode.h"

namespace thalweg::engine {
namespace {

using jobspec::List;
using jobspec::Map;
using jobspec::Value;

struct Case {
  Value model;
  Value optimizer = Map{{"name", "momentum"}};
  Value sync = Map{};
  double clip_norm = 0;
  int shards = 4;
  int steps = 3;
};

struct Trained {
  std::vector<float> parameters, running, losses;
  bool stopped = false;
  friend bool operator==(const Trained&, const Trained&) = default;
};

constexpr int kBatch = 24;

/// One rank's whole training on the same synthetic samples.
Trained train_rank(const Case& c, comm::Group& group, int threads, bool stop) {
  const Value data =
      Map{{"name", "synthetic"}, {"samples", kBatch}, {"classes", 3}, {"shape", List{6}}};
  const auto dataset = load_dataset(data);
  std::vector<float> inputs(kBatch * 6);
  std::vector<std::int32_t> labels(kBatch);
  for (std::size_t i = 0; i < kBatch; ++i) {
    dataset->copy(i, inputs.data() + i * 6);
    labels[i] = dataset->label(i);
  }
  Sharding sharding;
  sharding.shards = c.shards;
  sharding.global_batch = kBatch;
  sharding.first = comm::Group::first_shard(group.rank(), group.size(), c.shards);
  sharding.end = comm::Group::first_shard(group.rank() + 1, group.size(), c.shards);
  const auto model = build_model(c.model, {{6}, 3}, sharding.shard_batch(), "reference");
  const auto optimizer = make_optimizer<float>(c.optimizer, parameters_of(*model));
  Replica replica(*model, *optimizer);
  model->initialize(11, replica.parameters.floats(), replica.running.floats());
  LanePool lanes(*model, threads);
  const auto mode = make_sync_mode(
      c.sync, {*model, *optimizer, group, lanes, replica, sharding, 11, c.clip_norm});
  Trained result;
  for (int step = 0; step < c.steps; ++step) {
    StepInput input;
    input.context = {step, 0.05};
    const auto first = static_cast<std::size_t>(sharding.first * sharding.shard_batch());
    input.inputs = inputs.data() + first * 6;
    input.labels = labels.data() + first;
    input.sample_floats = 6;
    input.stop = stop && step == 1;
    const StepOutcome outcome = mode->step(input);
    result.losses.push_back(static_cast<float>(outcome.loss));
    EXPECT_EQ(outcome.stop && !result.stopped, step == 1 && outcome.stop);
    result.stopped = result.stopped || outcome.stop;
  }
  result.parameters.resize(static_cast<std::size_t>(model->parameter_count()));
  model->to_plain(replica.parameters.floats(), result.parameters.data());
  result.running.assign(replica.running.floats(), replica.running.floats() + model->statistics());
  return result;
}

/// Every rank's result. `stopper`: the rank that is asked to stop, -1 none.
std::vector<Trained> train(const Case& c, int ranks, int threads, int stopper = -1) {
  auto transports = comm::memory_transports(ranks);
  std::vector<Trained> results(static_cast<std::size_t>(ranks));
  std::vector<std::thread> processes;
  for (int rank = 0; rank < ranks; ++rank)
    processes.emplace_back([&, rank] {
      const auto r = static_cast<std::size_t>(rank);
      comm::Group group(std::move(transports[r]));
      results[r] = train_rank(c, group, threads, rank == stopper);
    });
  for (std::thread& p : processes)
    p.join();
  return results;
}

Case batch_norm_and_dropout() {
  return {Map{{"name", "mlp"}, {"hidden", List{8, 5}}, {"batch_norm", true}, {"dropout", 0.3}}};
}

class RanksAndLanes : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(RanksAndLanes, GiveTheBitsOfOneRank) {
  const auto [ranks, threads] = GetParam();
  Case tiny_buckets = batch_norm_and_dropout();
  tiny_buckets.sync = Map{{"first_bucket_mib", 0.0}, {"bucket_mib", 0.0}};
  tiny_buckets.optimizer = Map{{"name", "adamw"}};
  Case clipped = batch_norm_and_dropout();
  clipped.clip_norm = 0.01;
  Case six_shards = batch_norm_and_dropout();
  six_shards.shards = 6;
  for (const Case& c : {batch_norm_and_dropout(), tiny_buckets, clipped, six_shards}) {
    const Trained alone = train(c, 1, 1)[0];
    for (const Trained& result : train(c, ranks, threads))
      EXPECT_EQ(result, alone);
  }
}

INSTANTIATE_TEST_SUITE_P(All, RanksAndLanes,
                         testing::Combine(testing::Values(1, 2, 3, 4), testing::Values(1, 2)));

TEST(Synchronous, BucketSizesDoNotChangeTheBits) {
  Case tiny = batch_norm_and_dropout();
  tiny.sync = Map{{"first_bucket_mib", 0.0}, {"bucket_mib", 0.0}};
  EXPECT_EQ(train(tiny, 2, 1)[0], train(batch_norm_and_dropout(), 2, 1)[0]);
}

// Goyal et al., arXiv:1706.02677, remark 3: the loss is the mean over the global batch, whatever
// the shards.
TEST(Synchronous, ShardsGiveTheGradientOfTheWholeBatch) {
  Case whole{Map{{"name", "mlp"}, {"hidden", List{8}}}};
  whole.shards = 1;
  Case split = whole;
  split.shards = 4;
  const Trained a = train(whole, 1, 1)[0], b = train(split, 2, 1)[0];
  ASSERT_EQ(a.parameters.size(), b.parameters.size());
  for (std::size_t i = 0; i < a.parameters.size(); ++i)
    EXPECT_NEAR(a.parameters[i], b.parameters[i], 1e-6);
  EXPECT_NEAR(a.losses[2], b.losses[2], 1e-6);
  EXPECT_LT(a.losses[2], a.losses[0]);
}

TEST(Synchronous, OneRankAskedToStopStopsAll) {
  for (const Trained& result : train(batch_norm_and_dropout(), 3, 1, 2))
    EXPECT_TRUE(result.stopped);
  EXPECT_FALSE(train(batch_norm_and_dropout(), 3, 1)[0].stopped);
}

TEST(Synchronous, ClippingBoundsTheStep) {
  Case clipped{Map{{"name", "mlp"}, {"hidden", List{8}}}};
  clipped.optimizer = Map{{"name", "sgd"}};
  clipped.clip_norm = 1e-3;
  clipped.steps = 0;
  const Trained before = train(clipped, 1, 1)[0];
  clipped.steps = 1;
  const Trained after = train(clipped, 1, 1)[0];
  double squares = 0;
  for (std::size_t i = 0; i < after.parameters.size(); ++i)
    squares += std::pow(after.parameters[i] - before.parameters[i], 2);
  EXPECT_NEAR(std::sqrt(squares), 0.05 * 1e-3, 1e-7);  // learning rate times norm
}

TEST(SyncModes, EveryOptimizerGivesTheBitsOfOneRankOnTwo) {
  for (const optim::OptimizerEntry& entry : optim::optimizer_table()) {
    Case c = batch_norm_and_dropout();
    c.sync = Map{{"first_bucket_mib", 0.0}, {"bucket_mib", 0.0}};
    c.optimizer = Map{{"name", entry.name}};
    const Trained alone = train(c, 1, 1)[0];
    for (const Trained& rank : train(c, 2, 2))
      EXPECT_TRUE(rank == alone) << entry.name;
  }
}

TEST(SyncModes, UnknownNameGetsTheNearestOne) {
  const auto model = build_model(Map{{"name", "mlp"}}, {{6}, 3}, 4, "reference");
  const auto optimizer = make_optimizer<float>(Map{{"name", "sgd"}}, parameters_of(*model));
  comm::Group group(std::move(comm::memory_transports(1)[0]));
  Replica replica(*model, *optimizer);
  LanePool lanes(*model, 1);
  try {
    make_sync_mode(Map{{"mode", "synk"}}, {*model, *optimizer, group, lanes, replica, {}, 1, 0});
    FAIL() << "accepted";
  } catch (const std::invalid_argument& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("did you mean sync?"));
  }
}

}  // namespace
}  // namespace thalweg::engine
