#include "engine/train/checkpoint_interval.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "jobspec/advise/formulas.h"

namespace thalweg::engine {
namespace {

/// The share of time that is lost with an interval: checkpoints, and half an interval (and its
/// checkpoint) a failure; what Young's formula minimises, to the first order.
double lost(double interval, double checkpoint, double between_failures) {
  return checkpoint / interval + interval / (2 * between_failures);
}

TEST(CheckpointInterval, NoOtherLosesLess) {
  for (const double checkpoint : {0.01, 1.0, 60.0})
    for (const double between_failures : {600.0, 86400.0, 3.6e6}) {
      const double best = jobspec::advise::checkpoint_interval(checkpoint, between_failures);
      double least = std::numeric_limits<double>::infinity(), at = 0;
      for (double interval = best / 16; interval < 16 * best; interval *= 1.001)
        if (const double here = lost(interval, checkpoint, between_failures); here < least) {
          least = here;
          at = interval;
        }
      EXPECT_NEAR(best / at, 1, 0.002) << checkpoint << " " << between_failures;
    }
}

TEST(CheckpointInterval, FollowsWhatCheckpointsTakeAndHowManyNodesMayFail) {
  CheckpointInterval one(80000, 1), eight(80000, 8);
  EXPECT_FALSE(one.measured());
  EXPECT_EQ(one.seconds(), 60) << "an early one, to measure it";
  one.took(4);
  eight.took(4);
  EXPECT_DOUBLE_EQ(one.seconds(), 800);
  EXPECT_DOUBLE_EQ(eight.between_failures_s(), 10000);
  EXPECT_DOUBLE_EQ(eight.seconds(), 800 / std::sqrt(8));
  one.took(1);
  EXPECT_DOUBLE_EQ(one.seconds(), 400);
  one.took(1e-9);
  EXPECT_EQ(one.seconds(), 1);
}

TEST(CheckpointInterval, KnowsSomethingWhereNobodyHasCountedFailures) {
  CheckpointInterval unknown(0, 2);
  EXPECT_DOUBLE_EQ(unknown.between_failures_s(), 1.8e6);
}

}  // namespace
}  // namespace thalweg::engine
