// Schedules against other systems' tables (base rate 1, value used for update 0, 1, 2, ...).
// Numbers: PyTorch 1.13.1 lr_scheduler; Caffe's learning rate policies; Horovod's
// LearningRateWarmupCallback; HetSeq's polynomial decay; CosmoFlow's epochs (MLPerf HPC).
#include "engine/schedule/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "engine/schedule/table.h"

namespace thalweg::engine {
namespace {

struct Row {
  const char* source;
  const char* options;
  std::int64_t total;
  std::vector<double> expected;
  std::int64_t per_epoch = 4;
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
    {"CosineAnnealingLR T=10 eta_min=.1, which rises again",
     "{decay: cosine, decay_steps: 10, final: 0.1, periodic: true}",
     13,
     {1.0, 0.977975432, 0.914057647, 0.814503364, 0.689057647, 0.55, 0.410942353, 0.285496636,
      0.185942353, 0.122024568, 0.1, 0.122024568, 0.185942353}},
    {"MultiStepLR [3,7,10] .5",
     "{decay: multistep, at_steps: [3, 7, 10], gamma: 0.5}",
     13,
     {1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125, 0.125, 0.125}},
    {"CosineWarmRestarts T0=3 Tmult=2 eta_min=0",
     "{decay: cosine-restarts, restart_steps: 3, growth: 2}",
     13,
     {1.0, 0.75, 0.25, 1.0, 0.933012702, 0.75, 0.5, 0.25, 0.066987298, 1.0, 0.982962913,
      0.933012702, 0.853553391}},
    {"OneCycle max=1 total=12 pct=.3",
     "{decay: one-cycle}",
     12,
     {0.04, 0.349789654, 0.879285159, 0.994415435, 0.93301297, 0.811745654, 0.647378998,
      0.462637103, 0.283060998, 0.13347753, 0.034566987, 4e-06}},
    {"1/t: lr/(1+gamma t) gamma=.5 (caffe inv power=1)",
     "{decay: inverse-time, every_steps: 1, gamma: 0.5}",
     13,
     {1.0, 0.666666667, 0.5, 0.4, 0.333333333, 0.285714286, 0.25, 0.222222222, 0.2, 0.181818182,
      0.166666667, 0.153846154, 0.142857143}},
    {"caffe inv gamma=1e-1 power=.75",
     "{decay: inverse-time, every_steps: 1, gamma: 0.1, power: 0.75}",
     13,
     {1.0, 0.931012445, 0.872195949, 0.821376902, 0.776969504, 0.737787946, 0.702926656, 0.67168138,
      0.643495658, 0.617923624, 0.594603558, 0.573238735, 0.553583312}},
    {"caffe sigmoid gamma=-1, stepsize 6",
     "{decay: sigmoid, every_steps: 1, center_steps: 6, slope: 1}",
     13,
     {0.997527377, 0.993307149, 0.98201379, 0.952574127, 0.880797078, 0.731058579, 0.5, 0.268941421,
      0.119202922, 0.047425873, 0.01798621, 0.006692851, 0.002472623}},
    {"WSD w=3 s=5 d=4 linear",
     "{decay: wsd, decay_steps: 4, warmup: linear, warmup_steps: 3, warmup_offset: 0}",
     12,
     {0.0, 0.333333333, 0.666666667, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.75, 0.5, 0.25, 0.0}},
    {"WSD w=3 s=5 d=4 cosine",
     "{decay: wsd, shape: cosine, decay_steps: 4, warmup: linear, warmup_steps: 3, warmup_offset: "
     "0}",
     12,
     {0.0, 0.333333333, 0.666666667, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.853553391, 0.5, 0.146446609,
      0.0}},
    {"WSD w=3 s=5 d=4 1-sqrt",
     "{decay: wsd, shape: 1-sqrt, decay_steps: 4, warmup: linear, warmup_steps: 3, warmup_offset: "
     "0}",
     12,
     {0.0, 0.333333333, 0.666666667, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.5, 0.292893219, 0.133974596,
      0.0}},
    {"LinearLR 1/3->1 in 5",
     "{decay: linear, decay_steps: 5, initial: 0.3333333333333333, final: 1}",
     13,
     {0.333333333, 0.466666667, 0.6, 0.733333333, 0.866666667, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0,
      1.0}},
    {"LinearLR 1/3->1 in 5 as a warm-up",
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
      0.357142857, 0.228571429, 0.1, 0.1, 0.1}},
    // From here on by hand, from the formula in the row's .cpp.
    {"inverse-sqrt after 4 steps of warm-up",
     "{decay: inverse-sqrt, warmup: linear, warmup_steps: 4, warmup_offset: 0}",
     13,
     {0, 0.25, 0.5, 0.75, 1, 0.894427191, 0.816496580927726, 0.755928946018454,
      0.7071067811865476}},
    {"a factor for each epoch",
     "{decay: list, factors: [1, 0.5, 0.25]}",
     6,
     {1, 1, 0.5, 0.5, 0.25, 0.25},
     2},
    {"a factor for each epoch, warm-up over three epochs",
     "{decay: list, factors: [1, 0.5, 2], warmup: linear, warmup_samples: 96, warmup_offset: 0}",
     6,
     {0, 1.0 / 3, 0.5 * 2 / 3, 0.5, 2, 2},
     2},
    {"NVCaffe's ramp-up from 0.2",
     "{warmup: quadratic, warmup_steps: 4, warmup_from: 0.2, warmup_offset: 0}",
     6,
     {0.2, 0.25, 0.4, 0.65, 1, 1}},
    {"Goyal's constant warm-up",
     "{warmup: constant, warmup_steps: 2, warmup_from: 0.125}",
     4,
     {0.125, 0.125, 1, 1}},
    {"OneCycle in straight lines",
     "{decay: one-cycle, shape: linear, div: 5, final_div: 2, peak: 0.5}",
     6,
     {0.2, 0.6, 1, 0.7, 0.4, 0.1}},
};

std::unique_ptr<Schedule> make(const std::string& options, std::int64_t total,
                               std::int64_t per_epoch = 4) {
  return make_schedule(jobspec::read_yaml(options, "test"), {total, per_epoch, 32});
}
double multiplier(const std::unique_ptr<Schedule>& schedule, std::int64_t step) {
  return schedule->at(step).lr;
}
/// Decays that cannot do without an option of their own.
std::string minimal(const std::string& decay) {
  if (decay == "multistep") return "decay: multistep, at_steps: [20, 30]";
  if (decay == "list") return "decay: list, factors: [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]";
  return "decay: " + decay;
}

class Schedules : public testing::TestWithParam<Row> {};
TEST_P(Schedules, MatchTheTable) {
  const Row& row = GetParam();
  const auto schedule = make(row.options, row.total, row.per_epoch);
  for (std::size_t t = 0; t < row.expected.size(); ++t)
    EXPECT_NEAR(multiplier(schedule, static_cast<std::int64_t>(t)), row.expected[t], 1e-9)
        << row.source << " step " << t;
}
INSTANTIATE_TEST_SUITE_P(Fixtures, Schedules, testing::ValuesIn(kRows));

TEST(Schedule, EveryWarmupJoinsEveryDecay) {
  for (const DecayEntry& decay : decay_table())
    for (const WarmupEntry& warmup : warmup_table()) {
      if (warmup.name == "none") continue;
      const std::string common = minimal(decay.name) + "}";
      const auto plain = make("{" + common, 50);
      const auto schedule =
          make("{warmup_steps: 5, warmup_from: 0.1, warmup: " + warmup.name + ", " + common, 50);
      const double full = multiplier(schedule, 5);
      SCOPED_TRACE(decay.name + " after " + warmup.name);
      EXPECT_NEAR(full, multiplier(plain, decay.clock == Clock::start_of_run ? 5 : 0), 0.02);
      // step falls at 4, within the warm-up: that is its clock
      EXPECT_LT(multiplier(schedule, 0), 0.3 * multiplier(plain, 0));
      if (warmup.name == "constant")
        EXPECT_LT(multiplier(schedule, 4), 0.2 * full);
      else
        EXPECT_NEAR(multiplier(schedule, 4), full, 1e-12);
    }
}

TEST(Schedule, ReachesFinalAtTheEndAndStaysThere) {
  for (const char* decay : {"cosine", "polynomial", "linear", "wsd"}) {
    const auto schedule = make(std::string("{final: 0.25, decay: ") + decay + "}", 40);
    EXPECT_NEAR(multiplier(schedule, 40), 0.25, 1e-12) << decay;
    EXPECT_NEAR(multiplier(schedule, 1000), 0.25, 1e-12) << decay;
    EXPECT_GT(multiplier(schedule, 39), 0.25) << decay;
  }
}

TEST(Schedule, DefaultsAreAConstantRate) {
  const auto schedule = make("{}", 10);
  for (std::int64_t t = 0; t < 10; ++t)
    EXPECT_EQ(multiplier(schedule, t), 1.0);
}

TEST(Schedule, OneCycleMovesMomentumAgainstTheRate) {
  // PyTorch's OneCycleLR, total 12, pct .3, momentum .85 to .95
  const double expected[] = {0.95,        0.917730244, 0.862574463, 0.850558459,
                             0.85669873,  0.86882551,  0.885262241, 0.903736505,
                             0.921694187, 0.936652594, 0.946543687, 0.95};
  const auto schedule = make("{decay: one-cycle}", 12);
  for (std::int64_t t = 0; t < 12; ++t)
    EXPECT_NEAR(schedule->at(t).momentum.value(), expected[t], 1e-9) << t;
  EXPECT_FALSE(make("{decay: one-cycle, cycle_momentum: false}", 12)->at(3).momentum);
  EXPECT_FALSE(make("{decay: cosine}", 12)->at(3).momentum);
}

TEST(Schedule, CosmoFlowFollowsItsEpochs) {
  // MLPerf HPC: lr 0.001 for batch 64, batch 1024, 4 epochs of warm-up, drops after epochs 32, 64
  const auto schedule = make_schedule(
      jobspec::read_yaml("{decay: multistep, at_epochs: [33, 65], factors: [0.25, 0.125], warmup: "
                         "linear, warmup_epochs: 4, warmup_offset: 0, scaling: linear, "
                         "scaling_batch: 64}",
                         "test"),
      {1280, 10, 1024});
  const std::pair<int, double> expected[] = {{0, .001},  {1, .00475}, {2, .0085}, {3, .01225},
                                             {4, .016},  {31, .016},  {32, .016}, {33, .004},
                                             {64, .004}, {65, .002}};
  for (const auto& [epoch, lr] : expected)
    EXPECT_NEAR(0.001 * multiplier(schedule, epoch * 10), lr, 1e-9) << epoch;
}

TEST(Schedule, ScalesWithTheBatch) {
  const auto factor = [](const std::string& options, std::int64_t batch) {
    return make_schedule(jobspec::read_yaml(options, "test"), {10, 10, batch})->at(0).lr;
  };
  EXPECT_EQ(factor("{scaling: none}", 8192), 1);
  EXPECT_EQ(factor("{scaling: linear, scaling_batch: 256}", 8192), 32);
  EXPECT_EQ(factor("{scaling: linear, scaling_batch: 256}", 128), 0.5);
  EXPECT_EQ(factor("{scaling: sqrt, scaling_batch: 32}", 2048), 8);
  const std::string by_auto = "{scaling: auto, scaling_batch: 32, scaling_anchored: ";
  EXPECT_EQ(factor(by_auto + "false}", 8 * 32), 8);
  EXPECT_EQ(factor(by_auto + "false}", 16 * 32), 16);
  EXPECT_EQ(factor(by_auto + "false}", 64 * 32), 8);
  EXPECT_EQ(factor(by_auto + "true}", 64 * 32), 32);
  // SVHN: lr = .27 B / (96 + B)
  EXPECT_NEAR(0.27 * factor("{scaling: mccandlish, noise_scale: 96}", 512), .27 * 512 / (96 + 512),
              1e-12);
  EXPECT_NEAR(factor("{scaling: mccandlish, noise_scale: 1000, scaling_alpha: 0.5}", 1000),
              std::sqrt(0.5), 1e-12);
  EXPECT_NEAR(factor("{scaling: mccandlish, noise_scale: 1000, scaling_batch: 250}", 1000), 2.5,
              1e-12);
}

TEST(Schedule, WarmupRisesFromTheUnscaledRate) {  // Goyal et al.: from eta to k eta
  const std::string scaled = "{scaling: linear, scaling_batch: 4, warmup_epochs: 2, warmup: ";
  const auto gradual = make(scaled + "linear}", 8);  // batch 32: the Horovod row, times 8
  const double horovod[] = {0.234375, 0.34375, 0.453125, 0.5625, 0.671875, 0.78125, 0.890625, 1.0};
  for (int t = 0; t < 8; ++t)
    EXPECT_NEAR(multiplier(gradual, t), 8 * horovod[t], 1e-9) << t;
  const auto constant = make(scaled + "constant}", 9);
  EXPECT_EQ(multiplier(constant, 0), 1);
  EXPECT_EQ(multiplier(constant, 7), 1);
  EXPECT_EQ(multiplier(constant, 8), 8);
  const auto by_hand = make(scaled + "linear, warmup_from: 0.5, warmup_offset: 0}", 9);
  EXPECT_EQ(multiplier(by_hand, 0), 4);
}

TEST(Schedule, LengthsHaveThreeUnits) {  // 4 steps of 32 samples an epoch
  for (const char* length : {"every_steps: 6", "every_epochs: 1.5", "every_samples: 192"}) {
    const auto schedule = make(std::string("{decay: step, gamma: 0.5, ") + length + "}", 20);
    EXPECT_EQ(multiplier(schedule, 5), 1) << length;
    EXPECT_EQ(multiplier(schedule, 6), 0.5) << length;
  }
  for (const char* list : {"at_steps: [2, 6]", "at_epochs: [0.5, 1.5]", "at_samples: [64, 192]"}) {
    const auto schedule = make(std::string("{decay: multistep, gamma: 0.5, ") + list + "}", 20);
    EXPECT_EQ(multiplier(schedule, 1), 1) << list;
    EXPECT_EQ(multiplier(schedule, 5), 0.5) << list;
    EXPECT_EQ(multiplier(schedule, 6), 0.25) << list;
  }
}

TEST(Schedule, LengthsInSamplesAndEpochsAreWholeStepsWhereTheyAre) {
  const auto with_batch = [](const std::string& options, std::int64_t per_epoch, int batch) {
    return make_schedule(jobspec::read_yaml(options, "test"), {1000, per_epoch, batch});
  };
  const auto restarts = with_batch("{decay: cosine-restarts, restart_samples: 525}", 100, 75);
  EXPECT_LT(multiplier(restarts, 6), 0.1);
  EXPECT_EQ(multiplier(restarts, 7), 1) << "525 / 75 steps";
  const auto drops = with_batch("{decay: step, gamma: 0.5, every_samples: 98}", 100, 98);
  EXPECT_EQ(multiplier(drops, 1), 0.5) << "one step is long enough";
  const auto milestone = with_batch("{decay: multistep, gamma: 0.5, at_epochs: [1.1]}", 100, 32);
  EXPECT_EQ(multiplier(milestone, 109), 1);
  EXPECT_EQ(multiplier(milestone, 110), 0.5) << "1.1 * 100 is a little more in floating point";
  for (int batch = 1; batch <= 1024; ++batch)
    for (const int steps : {1, 3, 7, 100}) {
      const auto at = with_batch(
          "{decay: multistep, gamma: 0.5, at_samples: [" + std::to_string(steps * batch) + "]}",
          100, batch);
      ASSERT_EQ(multiplier(at, steps - 1), 1) << batch;
      ASSERT_EQ(multiplier(at, steps), 0.5) << batch;
    }
}

/// The rates after each of these validation losses, one an epoch.
std::vector<double> plateau_rates(const std::string& options, const std::vector<double>& losses,
                                  std::size_t restart_after = 1000) {
  auto schedule = make("{decay: plateau, " + options + "}", 1000);
  std::vector<double> rates;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const auto step = static_cast<std::int64_t>(4 * (i + 1));
    schedule->observe(step, "val/error", 100.0 + static_cast<double>(i));  // not what it watches
    schedule->observe(step, "val/loss", losses[i]);
    rates.push_back(multiplier(schedule, step));
    if (i == restart_after) {
      const std::vector<double> state = schedule->state();
      schedule = make("{decay: plateau, " + options + "}", 1000);
      schedule->restore(state);
    }
  }
  return rates;
}

TEST(Schedule, PlateauDropsAsPyTorchsDoes) {
  // Rates by PyTorch's rule (lr_scheduler.py, ReduceLROnPlateau.step), worked out by hand.
  const std::vector<double> losses{1, .9, .9, .9, .95, .8, .8, .8, .8, .8, .8, .7, .7, .7, .7};
  const std::string patience = "patience_epochs: 1, gamma: 0.5";
  const std::vector<double> quick{1,   1,    1,    .5,   .5,   .5,    .5,   .25,
                                  .25, .125, .125, .125, .125, .0625, .0625};
  EXPECT_EQ(plateau_rates(patience, losses), quick);
  const std::vector<double> cooled{1,   1,   1,   .5,  .5,  .5,   .5,  .25,
                                   .25, .25, .25, .25, .25, .125, .125};
  EXPECT_EQ(plateau_rates(patience + ", cooldown_epochs: 2", losses), cooled);
  EXPECT_EQ(plateau_rates(patience + ", final: 0.2", losses).back(), 0.2);
  // a smaller step than the threshold is no progress; NaN neither
  EXPECT_EQ(plateau_rates(patience + ", threshold: 0.1", {1, .95, .91, .89}).back(), 0.5);
  EXPECT_EQ(plateau_rates(patience + ", threshold: 0.1, threshold_mode: absolute",
                          {10, 9.95, 9.8, 9.8, 9.8}),
            (std::vector<double>{1, 1, 1, 1, 0.5}));
  EXPECT_EQ(plateau_rates(patience, {1, NAN, NAN, 1}).back(), 0.5);
  EXPECT_EQ(plateau_rates(patience + ", goal: maximize", {.1, .2, .3, .3, .3}),
            (std::vector<double>{1, 1, 1, 1, 0.5}));
  EXPECT_EQ(make("{decay: plateau, metric: val/iou}", 10)->watched(), "val/iou");
  EXPECT_EQ(make("{decay: cosine}", 10)->watched(), "");
  for (std::size_t i = 0; i + 1 < losses.size(); ++i)
    EXPECT_EQ(plateau_rates(patience + ", cooldown_epochs: 2", losses, i), cooled) << i;
}

/// Whether the first rates are the same in a run of twice the length.
bool same_in_a_longer_run(const std::string& options) {
  const auto run = make(options, 40), longer = make(options, 80);
  for (std::int64_t step = 0; step < 40; ++step)
    if (run->at(step).lr != longer->at(step).lr) return false;
  return true;
}

TEST(Schedule, TheTableSaysWhichDecaysEndWithTheRun) {
  for (const DecayEntry& decay : decay_table()) {
    const std::string name = "decay: " + decay.name;
    const std::string needed = decay.name == "multistep" ? ", at_steps: [3, 7]"
                               : decay.name == "list"    ? ", factors: [" +
                                                            [] {
                                                              std::string ones = "1";
                                                              for (int i = 0; i < 19; ++i)
                                                                ones += ", 0.5";
                                                              return ones;
                                                            }() +
                                                            "]"
                                                      : "";
    EXPECT_EQ(same_in_a_longer_run("{" + name + needed + "}"), decay.run_length.empty()) << name;
    if (decay.run_length.empty()) continue;
    const std::string set =
        decay.run_length == "*" ? "decay_steps: 8" : decay.run_length + "_steps: 30";
    EXPECT_EQ(same_in_a_longer_run("{" + name + ", " + set + "}"), decay.run_length != "*") << name;
  }
}

TEST(Schedule, StateOfAnotherScheduleIsRefused) {
  const double numbers[] = {1, 2};
  EXPECT_THROW(make("{decay: plateau}", 10)->restore(numbers), std::invalid_argument);
  EXPECT_THROW(make("{decay: cosine}", 10)->restore(numbers), std::invalid_argument);
}

TEST(Schedule, DescribesItselfInALine) {
  const auto text = [](const char* options) {
    return describe_schedule(jobspec::read_yaml(options, "test"), {100, 10, 512}, 0.02);
  };
  EXPECT_EQ(text("{}"), "constant: lr 0.02 at step 0, 0.02 at step 99");
  EXPECT_EQ(text("{decay: linear, warmup: linear, warmup_epochs: 1, scaling: linear, "
                 "scaling_batch: 128}"),
            "linear warm-up over 10 steps, then linear, times 4 for the batch (linear): lr 0.026 "
            "at step 0, 0.08 at step 10, 0.0008889 at step 99");
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
  expect_refused("{scaling: lin}", "schedule.scaling");
  expect_refused("{warmup: linear, warmup_steps: 11}", "only 10");
  expect_refused("{warmup: linear, warmup_steps: 1, warmup_epochs: 1}", "keep one");
  expect_refused("{warmup: linear, warmup_samples: 1, warmup_epochs: 1}", "keep one");
  expect_refused("{warmup: constant, warmup_steps: 2}", "schedule.warmup_from");
  expect_refused("{decay: step, every_steps: 0}", "at least one step");
  expect_refused("{decay: exponential, every_steps: 0}", "above 0");
  expect_refused("{decay: inverse-time, every_steps: 0}", "above 0");
  expect_refused("{decay: inverse-sqrt, timescale_steps: 0}", "above 0");
  expect_refused("{decay: sigmoid, every_steps: 0}", "above 0");
  expect_refused("{decay: cosine-restarts, restart_epochs: 0}", "at least one step");
  expect_refused("{decay: multistep}", "at_epochs");
  expect_refused("{decay: multistep, at_epochs: []}", "empty");
  expect_refused("{decay: multistep, at_epochs: [30, 20]}", "in order");
  expect_refused("{decay: multistep, at_epochs: [soon]}", "numbers only");
  expect_refused("{decay: multistep, at_epochs: [1, 2], factors: [1]}", "1 factors for 2");
  expect_refused("{decay: multistep, at_epochs: [1], factors: [-1]}", "at least 0");
  expect_refused("{decay: one-cycle, cycle_steps: 3}", "peak");
  expect_refused("{decay: one-cycle, low_momentum: 0.96}", "low_momentum");
  expect_refused("{decay: wsd, decay_steps: 9, warmup: linear, warmup_steps: 2}", "only 8");
  expect_refused("{decay: wsd, decay_steps: 0}", "above 0");
  expect_refused("{decay: list}", "schedule.factors is missing");
  expect_refused("{decay: list, factors: [1, 1]}", "2 factors for 3 epochs");
  expect_refused("{scaling: linear}", "schedule.scaling_batch is missing");
}

}  // namespace
}  // namespace thalweg::engine
