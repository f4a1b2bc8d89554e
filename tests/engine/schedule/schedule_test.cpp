// Schedules against other systems' tables (base rate 1, value used for update 0, 1, 2, ...).
// Numbers: PyTorch 1.13.1 lr_scheduler; Horovod's LearningRateWarmupCallback; HetSeq's polynomial
// decay.
#include "engine/schedule/schedule.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/schedule/table.h"

namespace thalweg::engine {
namespace {

struct Row {
  const char* source;
  const char* options;
  std::int64_t total;
  std::vector<double> expected;
};
const Row kRows[] = {
    {"StepLR step=4 gamma=.1",
     "{decay: step, every_steps: 4, gamma: 0.1}",
     13,
     {1.0, 1.0, 1.0, 1.0, 0.1, 0.1, 0.1, 0.1, 0.01, 0.01, 0.01, 0.01, 0.001}},
    {"ExponentialLR .9",
     "{decay: exponential, every_steps: 1, gamma: 0.9}",
     13,
     {1.0, 0.9, 0.81, 0.729, 0.6561, 0.59049, 0.531441, 0.4782969, 0.43046721, 0.387420489,
      0.34867844, 0.313810596, 0.282429536}},
    {"PolynomialLR total=10 power=2",
     "{decay: polynomial, decay_steps: 10, power: 2}",
     13,
     {1.0, 0.81, 0.64, 0.49, 0.36, 0.25, 0.16, 0.09, 0.04, 0.01, 0.0, 0.0, 0.0}},
    {"CosineAnnealingLR T=10 eta_min=.1",
     "{decay: cosine, decay_steps: 10, final: 0.1}",
     13,
     {1.0, 0.977975432, 0.914057647, 0.814503364, 0.689057647, 0.55, 0.410942353, 0.285496636,
      0.185942353, 0.122024568, 0.1}},
    {"LinearLR 1/3->1 in 5",
     "{decay: constant, warmup: linear, warmup_steps: 5, warmup_from: 0.3333333333333333, "
     "warmup_offset: 0}",
     13,
     {0.333333333, 0.466666667, 0.6, 0.733333333, 0.866666667, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0,
      1.0}},
    {"horovod warmup multiplier k=8, spe=4, W=2, batches 0..7 (epoch+ (b+1)/spe)",
     "{decay: constant, warmup: linear, warmup_epochs: 2, warmup_from: 0.125}",
     8,
     {0.234375, 0.34375, 0.453125, 0.5625, 0.671875, 0.78125, 0.890625, 1.0}},
    {"hetseq/fairseq poly warm=3 total=10 power=1 end=.1",
     "{decay: polynomial, final: 0.1, warmup: linear, warmup_steps: 3, warmup_offset: 0}",
     10,
     {0.0, 0.333333333, 0.666666667, 1.0, 0.871428571, 0.742857143, 0.614285714, 0.485714286,
      0.357142857, 0.228571429}},
};

std::unique_ptr<Schedule> make(const std::string& options, std::int64_t total,
                               std::int64_t per_epoch = 4) {
  return make_schedule(jobspec::read_yaml(options, "test"), {total, per_epoch});
}

class Schedules : public testing::TestWithParam<Row> {};
TEST_P(Schedules, MatchTheTable) {
  const Row& row = GetParam();
  const auto schedule = make(row.options, row.total);
  for (std::size_t t = 0; t < row.expected.size(); ++t)
    EXPECT_NEAR(schedule->multiplier(static_cast<std::int64_t>(t)), row.expected[t], 1e-9)
        << row.source << " step " << t;
}
INSTANTIATE_TEST_SUITE_P(Fixtures, Schedules, testing::ValuesIn(kRows));

TEST(Schedule, WarmupJoinsEveryDecayAtTheFullRate) {
  for (const DecayEntry& decay : decay_table()) {
    const auto schedule = make("{warmup: linear, warmup_steps: 5, decay: " + decay.name + "}", 50);
    EXPECT_NEAR(schedule->multiplier(0), 0.2, 1e-12) << decay.name;
    EXPECT_DOUBLE_EQ(schedule->multiplier(4), 1.0) << decay.name;
    EXPECT_DOUBLE_EQ(schedule->multiplier(5), 1.0) << decay.name;
  }
}

TEST(Schedule, ReachesFinalAtTheEndAndStaysThere) {
  for (const char* decay : {"cosine", "polynomial"}) {
    const auto schedule = make(std::string("{final: 0.25, decay: ") + decay + "}", 40);
    EXPECT_NEAR(schedule->multiplier(40), 0.25, 1e-12) << decay;
    EXPECT_NEAR(schedule->multiplier(1000), 0.25, 1e-12) << decay;
    EXPECT_GT(schedule->multiplier(39), 0.25) << decay;
  }
}

TEST(Schedule, DefaultsAreAConstantRate) {
  const auto schedule = make("{}", 10);
  for (std::int64_t t = 0; t < 10; ++t)
    EXPECT_EQ(schedule->multiplier(t), 1.0);
}

void expect_refused(const std::string& options, const std::string& part, std::int64_t total = 10) {
  try {
    make(options, total);
    FAIL() << options << " was accepted";
  } catch (const std::invalid_argument& e) {
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
}

TEST(Schedule, RefusesWhatMakesNoSense) {
  expect_refused("{decay: cosin}", "did you mean 'cosine'");
  expect_refused("{warmup: linaer}", "did you mean 'linear'");
  expect_refused("{warmup: linear, warmup_steps: 11}", "only 10");
  expect_refused("{warmup: linear, warmup_steps: 1, warmup_epochs: 1}", "keep one");
  expect_refused("{decay: step, every_steps: 0}", "at least one step");
  expect_refused("{decay: exponential, every_steps: 0}", "above 0");
}

}  // namespace
}  // namespace thalweg::engine
