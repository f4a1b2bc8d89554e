// The order of the buckets, and parameters that not every shard touches.
#include "engine/sync/device/host/gradient_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/device/batch.h"
#include "jobspec/schema.h"
#include "jobspec/value.h"
#include "tests/engine/sync/support.h"

namespace thalweg::engine {
namespace {

using jobspec::List;
using jobspec::Map;
using test::Case;
using test::Rewired;
using test::Trained;
using testing::ElementsAre;
using testing::HasSubstr;

const Map kTinyBuckets{{"first_bucket_mib", 0.0}, {"bucket_mib", 0.0}};

/// Two layers: weights and biases are parameters 0 to 3.
Case two_layers() {
  Case c{Map{{"name", "mlp"}, {"hidden", List{8}}}};
  c.sync = kTinyBuckets;
  return c;
}

Case rewired(const Rewired& how) {
  Case c = two_layers();
  c.wrap = [how](std::unique_ptr<Model> model) { return test::rewire(std::move(model), how); };
  return c;
}

std::vector<int> bucket_order(const GradientPath& path) {
  std::vector<int> order;
  for (const Bucket& bucket : path.buckets())
    order.insert(order.end(), bucket.parameters.begin(), bucket.parameters.end());
  return order;
}

void make_step(GradientPath& path, const StepInput& input) {
  StepOutcome outcome;
  path.run(input, outcome);
  path.finish(outcome);
}

TEST(GradientPath, RebuildsItsBucketsInTheOrderThatRankZeroMeasured) {
  test::on_ranks(3, [](comm::Group& group) {
    // Rank 2's gradients become ready in another order than those of the others.
    const Case c = rewired(
        {group.rank() == 2 ? std::vector<int>{1, 0, 3, 2} : std::vector<int>{0, 3, 1, 2}, {}});
    test::TestRank rank(c, group, 1);
    GradientPath path(rank.parts(), SyncConfig(c.sync, {}).common, 1.0f / test::kBatch);
    EXPECT_THAT(bucket_order(path), ElementsAre(2, 3, 0, 1));
    make_step(path, rank.input(0));
    EXPECT_THAT(bucket_order(path), ElementsAre(0, 3, 1, 2)) << group.rank();
    make_step(path, rank.input(1));
    EXPECT_THAT(bucket_order(path), ElementsAre(0, 3, 1, 2));
  });
}

TEST(GradientPath, RebuiltBucketsGiveTheBitsOfTheFirstOnes) {
  const Trained expected = test::train(two_layers(), 1, 1)[0];
  for (const int ranks : {1, 2, 3})
    for (const Trained& result : test::train(rewired({{0, 3, 1, 2}, {}}), ranks, 2))
      EXPECT_EQ(result, expected);
}

TEST(GradientPath, FindsRanksWithOtherBuckets) {
  std::string heard;
  test::on_ranks(2, [&](comm::Group& group) {
    Case c = two_layers();
    if (group.rank() == 1) c.sync = Map{};
    test::TestRank rank(c, group, 1);
    GradientPath path(rank.parts(), SyncConfig(c.sync, {}).common, 1.0f / test::kBatch);
    StepOutcome outcome;
    try {
      path.run(rank.input(0), outcome);
      ADD_FAILURE() << "not noticed";
    } catch (const std::runtime_error& e) {
      if (group.rank() == 0) heard = e.what();
    }
  });
  EXPECT_THAT(heard, HasSubstr("rank 1 on"));
  EXPECT_THAT(heard, HasSubstr("groups its gradients otherwise"));
}

/// Training after which parameter 1 (a bias, zero at first) tells whether it was updated.
Trained train_with(std::function<bool(int, const Batch&)> touches, int ranks, int micro_batches = 1,
                   int steps = 3) {
  Case c = rewired({{2, 3, 0, 1}, std::move(touches)});
  c.micro_batches = micro_batches;
  c.steps = steps;
  const auto results = test::train(c, ranks, 1);
  for (const Trained& result : results)
    EXPECT_EQ(result, results[0]);
  return results[0];
}

constexpr std::size_t kBias = 6 * 8, kBiases = 8;  // of the first layer, in the plain layout

double size_of_bias(const Trained& result) {
  double sum = 0;
  for (std::size_t i = 0; i < kBiases; ++i)
    sum += std::abs(static_cast<double>(result.parameters[kBias + i]));
  return sum;
}

TEST(GradientPath, AParameterThatNobodyTouchesKeepsItsValueAndItsState) {
  const auto never = [](int parameter, const Batch&) { return parameter != 1; };
  const auto first_step = [](int parameter, const Batch& batch) {
    return parameter != 1 || batch.step == 0;
  };
  for (const int ranks : {1, 2, 4})
    for (const int micro_batches : {1, 2}) {
      EXPECT_EQ(size_of_bias(train_with(never, ranks, micro_batches)), 0);
      // Momentum alone would have moved it on.
      const Trained once = train_with(first_step, ranks, micro_batches, 1);
      const Trained later = train_with(first_step, ranks, micro_batches, 3);
      EXPECT_GT(size_of_bias(once), 0);
      EXPECT_EQ(size_of_bias(later), size_of_bias(once));
      EXPECT_NE(later.parameters, once.parameters);
    }
}

TEST(GradientPath, AParameterThatSomeTouchIsSummedOverThem) {
  // Only the samples of the first quarter of the batch use it: one rank's of four.
  const auto some = [](int parameter, const Batch& batch) {
    return parameter != 1 || batch.first_sample < test::kBatch / 4;
  };
  const Trained alone = train_with(some, 1);
  EXPECT_GT(size_of_bias(alone), 0);
  for (const int ranks : {2, 3, 4})
    EXPECT_EQ(train_with(some, ranks), alone);
  EXPECT_NE(size_of_bias(alone),
            size_of_bias(train_with([](int, const Batch&) { return true; }, 1)));
}

}  // namespace
}  // namespace thalweg::engine
