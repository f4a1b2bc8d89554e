// A thousand simulated runs, in parts that run side by side.
#include <gtest/gtest.h>

#include "tests/simulation/simulation.h"

namespace thalweg::simulation {
namespace {

class Simulation : public testing::TestWithParam<int> {};

TEST_P(Simulation, EverythingHolds) {
  constexpr int seeds = 100;
  int promoted = 0;
  for (int i = 0; i < seeds; ++i) {
    Plan plan;
    plan.seed = static_cast<std::uint64_t>(GetParam() * seeds + i);
    const RunResult result = simulate(plan);
    ASSERT_EQ(result.broken, "") << command(plan);
    EXPECT_GT(result.attempts, 0) << command(plan);
    promoted += result.promoted;
  }
  EXPECT_GT(promoted, 0) << "no trial went on from a rung";
}

TEST(SimulationLocal, EverythingHolds) {
  int attempts = 0;
  for (int i = 0; i < 60; ++i) {
    Plan plan;
    plan.seed = static_cast<std::uint64_t>(i);
    plan.local = true;
    const RunResult result = simulate(plan);
    ASSERT_EQ(result.broken, "") << command(plan);
    attempts += result.attempts;
  }
  EXPECT_GT(attempts, 60);
}

TEST(SimulationLooks, EverythingHolds) {
  int looks = 0;
  for (int i = 0; i < 40; ++i) {
    Plan plan;
    plan.seed = static_cast<std::uint64_t>(i);
    plan.looks = true;
    plan.local = i % 4 == 3;
    const RunResult result = simulate(plan);
    ASSERT_EQ(result.broken, "") << command(plan);
    looks += result.looks;
  }
  EXPECT_GT(looks, 40);
}

// Seeds that broke a promise once: nodes that keep a job that slurmctld has forgotten; a sweep
// removed while its job was held, or brought back by slurmctld, or by an old listing of jobs; a job
// of a cancelled attempt that somebody let run, or that was cancelled while it was submitted;
// points of a removed sweep that were not written yet.
TEST(SimulationKept, SeedsThatFailedOnceHold) {
  for (const std::uint64_t seed : {7000053, 7000253, 7000670, 7000687, 7000947, 7001438, 8003638,
                                   8005689, 9000256, 20000316, 30000961, 30042055}) {
    Plan plan;
    plan.seed = seed;
    EXPECT_EQ(simulate(plan).broken, "") << command(plan);
  }
}

TEST(SimulationKept, TheSameSeedIsTheSameRun) {
  Plan plan;
  plan.seed = 11;
  const std::uint64_t digest = simulate(plan).digest;
  EXPECT_EQ(simulate(plan).digest, digest);
  plan.seed = 12;
  EXPECT_NE(simulate(plan).digest, digest);
}

INSTANTIATE_TEST_SUITE_P(First, Simulation, testing::Range(0, 3),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(More, Simulation, testing::Range(3, 10),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace thalweg::simulation
