// The synchronous mode with ranks as threads: the same bits for every number of ranks and
// executors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/optim/table.h"
#include "engine/sync/clip.h"
#include "tests/engine/sync/support.h"
#include "tests/support/memory_transport.h"

namespace thalweg::engine {
namespace {

using jobspec::List;
using jobspec::Map;
using jobspec::Value;
using test::batch_norm_and_dropout;
using test::Case;
using test::train;
using test::Trained;

class RanksAndExecutors : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(RanksAndExecutors, GiveTheBitsOfOneRank) {
  const auto [ranks, threads] = GetParam();
  Case tiny_buckets = batch_norm_and_dropout();
  tiny_buckets.sync = Map{{"first_bucket_mib", 0.0}, {"bucket_mib", 0.0}};
  tiny_buckets.optimizer = Map{{"name", "adamw"}};
  Case clipped = batch_norm_and_dropout();
  clipped.clip_norm = 0.01;
  Case six_shards = batch_norm_and_dropout();
  six_shards.shards = 6;
  Case micro_batches = batch_norm_and_dropout();
  micro_batches.micro_batches = 3;
  for (const Case& c :
       {batch_norm_and_dropout(), tiny_buckets, clipped, six_shards, micro_batches}) {
    const Trained alone = train(c, 1, 1)[0];
    for (const Trained& result : train(c, ranks, threads))
      EXPECT_EQ(result, alone);
  }
}

INSTANTIATE_TEST_SUITE_P(All, RanksAndExecutors,
                         testing::Combine(testing::Values(1, 2, 3, 4), testing::Values(1, 2)));

TEST(Synchronous, WaysThatMayNotChangeTheBits) {
  const Trained expected = train(batch_norm_and_dropout(), 2, 1)[0];
  const auto zero = std::pair<std::string, Value>{"first_bucket_mib", 0.0};
  const auto zeros = std::pair<std::string, Value>{"bucket_mib", 0.0};
  for (const Map& sync : {Map{zero, zeros}, Map{zero, zeros, {"overlap", false}},
                          Map{zero, zeros, {"priority", "forward"}},
                          Map{zero, zeros, {"priority", "forward"}, {"overlap", false}}}) {
    Case other = batch_norm_and_dropout();
    other.sync = sync;
    EXPECT_EQ(train(other, 2, 1)[0], expected) << Value(sync).to_text();
  }
}

// k micro-batches in each of n shards are added up as k n shards are.
TEST(Synchronous, AccumulatingHasTheBitsOfMoreShards) {
  for (const int micro_batches : {2, 4}) {
    Case more = batch_norm_and_dropout();
    more.shards = 2 * micro_batches;
    Case accumulating = batch_norm_and_dropout();
    accumulating.shards = 2;
    accumulating.micro_batches = micro_batches;
    const Trained expected = train(more, 1, 1)[0];
    for (const int ranks : {1, 2})
      EXPECT_EQ(train(accumulating, ranks, 1)[0], expected) << micro_batches << " on " << ranks;
  }
}

TEST(Synchronous, AccumulatingIsTheBatchThatIsAsManyTimesLarger) {
  Case whole{Map{{"name", "mlp"}, {"hidden", List{8}}}};
  whole.shards = 2;
  const Trained expected = train(whole, 2, 1)[0];
  for (const int micro_batches : {2, 3, 4, 6, 12}) {
    Case split = whole;
    split.micro_batches = micro_batches;
    const Trained result = train(split, 2, 1)[0];
    for (std::size_t i = 0; i < expected.parameters.size(); ++i)
      EXPECT_NEAR(result.parameters[i], expected.parameters[i], 1e-6) << micro_batches;
    EXPECT_NEAR(result.losses[2], expected.losses[2], 1e-6);
  }
}

// The reference device's relu lets NaN through; the loss of this step is NaN too, the name is what
// is new.
TEST(Synchronous, NamesTheParameterWhoseGradientIsNotFinite) {
  Case c{Map{{"name", "mlp"}, {"hidden", List{8}}}};
  c.poisoned_from = 1;
  c.poisoned = 17;
  const Trained alone = train(c, 1, 1)[0];
  EXPECT_EQ(alone.not_finite_step, 1);
  EXPECT_EQ(alone.not_finite, "fc2.weight");  // the first that backward completes
  for (const Trained& result : train(c, 3, 1)) {
    EXPECT_EQ(result.not_finite, alone.not_finite);
    EXPECT_EQ(result.not_finite_step, 1);
    for (const float value : result.parameters)
      EXPECT_TRUE(std::isfinite(value));
  }
}

TEST(Synchronous, TellsHowMuchOfTheCommunicationWasHidden) {
  EXPECT_TRUE(train(batch_norm_and_dropout(), 1, 1)[0].times.empty());
  Case late = batch_norm_and_dropout();
  late.sync = Map{{"overlap", false}};
  for (const Case& c : {batch_norm_and_dropout(), late}) {
    for (const Trained& result : train(c, 3, 1)) {
      ASSERT_EQ(result.times.size(), 2u);  // each step tells of the one before
      for (const CommTimes& times : result.times) {
        EXPECT_GT(times.comm_ms, 0);
        EXPECT_GE(times.skew_ms, 0);
        EXPECT_GE(times.overlap(), 0);
        EXPECT_LE(times.overlap(), 1);
      }
    }
  }
}

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

TEST(Synchronous, ClippingOfValuesBoundsEveryElement) {
  for (const double norm : {0.0, 1e-3}) {
    Case c{Map{{"name", "mlp"}, {"hidden", List{8}}}};
    c.optimizer = Map{{"name", "sgd"}};
    c.clip_value = 1e-2;
    c.clip_norm = norm;
    c.steps = 0;
    const Trained before = train(c, 1, 1)[0];
    c.steps = 1;
    const Trained after = train(c, 1, 1)[0];
    double largest = 0, squares = 0;
    for (std::size_t i = 0; i < after.parameters.size(); ++i) {
      const double step = std::abs(after.parameters[i] - before.parameters[i]);
      largest = std::max(largest, step);
      squares += step * step;
    }
    if (norm == 0)
      EXPECT_NEAR(largest, 0.05 * 1e-2, 1e-7);
    else
      EXPECT_NEAR(std::sqrt(squares), 0.05 * norm, 1e-7);
  }
}

TEST(Synchronous, ThreadsShareLargeUpdates) {
  for (const char* name : {"adamw", "muon", "prodigy"}) {
    Case c{Map{{"name", "mlp"}, {"hidden", List{300, 300}}}};
    c.optimizer = Map{{"name", name}};
    const Trained alone = train(c, 1, 1)[0];
    EXPECT_TRUE(train(c, 1, 3)[0] == alone) << name;
  }
}

TEST(ClipNorm, EveryElementIsRoundedOnce) {
  std::vector<float> g(10000);
  double squares = 0;
  for (std::size_t i = 0; i < g.size(); ++i) {
    g[i] = static_cast<float>(std::sin(static_cast<double>(i)) * std::pow(10.0, double(i % 7)));
    squares += static_cast<double>(g[i]) * static_cast<double>(g[i]);
  }
  const std::vector<float> before = g;
  clip(g.data(), g.size(), 0.3);
  for (std::size_t i = 0; i < g.size(); ++i) {
    const double exact = static_cast<double>(before[i]) * (0.3 / std::sqrt(squares));
    // Half a unit in the last place; 8e-8 where the factor itself was a float.
    ASSERT_LE(std::abs(static_cast<double>(g[i]) - exact), 0x1.00001p-24 * std::abs(exact)) << i;
  }
  const std::vector<float> short_enough = g;
  clip(g.data(), g.size(), 1);
  EXPECT_EQ(g, short_enough);
}

TEST(ClipValues, CutsBothSidesAndKeepsWhatIsNotFinite) {
  std::vector<float> g{-3, -0.5f, 0, 0.5f, 3, INFINITY, -INFINITY, NAN};
  clip_values(g.data(), g.size(), 1);
  EXPECT_THAT(g, testing::ElementsAre(-1, -0.5f, 0, 0.5f, 1, INFINITY, -INFINITY,
                                      testing::Truly([](float x) { return std::isnan(x); })));
}

TEST(SyncModes, EveryOptimizerGivesTheBitsOfOneRankOnTwo) {
  for (const optim::OptimizerEntry& entry : optim::optimizer_table()) {
    Case c = batch_norm_and_dropout();
    c.sync = Map{{"first_bucket_mib", 0.0}, {"bucket_mib", 0.0}};
    c.optimizer = Map{{"name", entry.name}};
    for (const jobspec::Option& option : entry.options)
      if (option.name == "every") c.optimizer.set("every", 2);  // within these few steps
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
  ExecutorPool executors(*model, 1);
  try {
    make_sync_mode(Map{{"mode", "synk"}},
                   {*model, *optimizer, group, executors, replica, {}, 1, 0});
    FAIL() << "accepted";
  } catch (const std::invalid_argument& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("there is no mode 'synk', did you mean 'sync'?"));
  }
}

}  // namespace
}  // namespace thalweg::engine
