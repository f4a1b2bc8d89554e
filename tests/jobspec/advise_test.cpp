// Every rule of advice, and the formulas behind them against published numbers.
#include "jobspec/advise/advise.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>

#include "jobspec/advise/forecast.h"
#include "jobspec/advise/formulas.h"
#include "jobspec/advise/regression.h"
#include "jobspec/sweep.h"

namespace thalweg::jobspec::advise {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Pair;

constexpr double gib = 1024.0 * 1024 * 1024;

/// A sweep of one configuration that no rule has anything against; tests change what they are
/// about.
class AdviseTest : public testing::Test {
 protected:
  AdviseTest() {
    Configuration c;
    c.trials = {1, 2, 3, 4};
    c.train = read_yaml(R"(
model: {name: resnet}
data: {name: arrays, fraction: 1.0, duplicate: 1}
optimizer: {name: momentum, momentum: 0.9, larc: none}
schedule: {decay: cosine, warmup: none, scaling: none}
sync: {mode: sync, accumulate: 1}
checkpoint: {every: auto}
augment: {flip: 0.5}
)",
                        "trial");
    c.parameters = 25e6;
    c.samples = 1.28e6;
    c.sample_bytes = 150'528;
    c.batch = 256;
    c.steps_per_epoch = 5000;
    c.memory = RankMemory{100e6, 100e6, 100e6, 0, 4e9, 1e8, 0};
    study_.configurations = {c};
    study_.machines.node_bytes = 64 * gib;
    study_.machines.gpu_bytes = 80 * gib;
    sweep_.seeds = {1, 2, 3, 4};
  }

  Configuration& configuration() { return study_.configurations.front(); }
  void set(const char* key, Value value) { configuration().train.set(key, std::move(value)); }

  /// Another configuration like the first one.
  Configuration& another() {
    study_.configurations.push_back(configuration());
    study_.configurations.back().trials = {5, 6, 7, 8};
    return study_.configurations.back();
  }

  void add_axis(const std::string& name) {
    Axis axis;
    axis.name = name;
    sweep_.axes.push_back(std::move(axis));
  }

  PastRun& add_run(int ranks, double batch, double samples_per_s) {
    PastRun run;
    run.trial = "1." + std::to_string(study_.experience.runs.size() + 1);
    run.model = "resnet";
    run.data = "arrays";
    run.device = "cpu";
    run.nodes = run.ranks = ranks;
    run.batch = batch;
    run.samples_per_s = samples_per_s;
    study_.experience.runs.push_back(run);
    return study_.experience.runs.back();
  }

  std::vector<Finding> found(const std::string& rule) {
    std::vector<Finding> findings;
    for (const Advice& advice : advise(study_))
      if (advice.rule->name == rule) findings.push_back(advice.finding);
    return findings;
  }

  /// What the rule says, which must be one thing.
  Finding only(const std::string& rule) {
    const auto findings = found(rule);
    EXPECT_EQ(findings.size(), 1u) << rule;
    return findings.empty() ? Finding{} : findings.front();
  }

  Verdict verdict(const std::string& rule) { return only(rule).verdict; }

  Sweep sweep_;
  Study study_{sweep_, {}};
};

TEST(AdviseFormulas, ParallelismOfTwelveCases) {
  struct Case {
    double model, data, node;  // GB
    Parallelism wanted;
  };
  const Case cases[] = {
      {1, 10, 64, Parallelism::data},
      {1, 1000, 64, Parallelism::data},  // the data are read in parts
      {63.9, 63.9, 64, Parallelism::data},
      {64, 10, 64, Parallelism::data},  // just fits
      {64.1, 10, 64, Parallelism::model},
      {200, 63.9, 64, Parallelism::model},
      {200, 64, 64, Parallelism::model},
      {200, 64.1, 64, Parallelism::model_and_data},
      {200, 1000, 64, Parallelism::model_and_data},
      {0.1, 0.05, 0.2, Parallelism::data},
      {96, 8, 80, Parallelism::model},
      {96, 15'000, 80, Parallelism::model_and_data},
  };
  for (const Case& c : cases)
    EXPECT_EQ(parallelism_for(c.model, c.data, c.node), c.wanted)
        << c.model << " " << c.data << " " << c.node;
}

TEST(AdviseFormulas, RootsOfPublishedDatasets) {
  EXPECT_EQ(usual_batch_limit(60'000), 244);
  EXPECT_EQ(usual_batch_limit(55'000), 234);
  EXPECT_EQ(usual_batch_limit(99'456), 315);
  EXPECT_EQ(usual_batch_limit(1.28e6), 1131);
  EXPECT_EQ(usual_batch_limit(15e6), 3872);
}

TEST(AdviseFormulas, StepsAndSamplesAtTheNoiseScale) {
  // arXiv:1812.06162, figure 3: B_noise = 1000.
  EXPECT_DOUBLE_EQ(relative_steps(250, 1000), 5);
  EXPECT_DOUBLE_EQ(relative_samples(250, 1000), 1.25);
  EXPECT_DOUBLE_EQ(relative_steps(1000, 1000), 2);
  EXPECT_DOUBLE_EQ(relative_samples(1000, 1000), 2);
  EXPECT_DOUBLE_EQ(relative_steps(4000, 1000), 1.25);
  EXPECT_DOUBLE_EQ(relative_samples(4000, 1000), 5);
}

TEST(AdviseFormulas, LagAndAsynchrony) {
  // The delayed quadratic is stable up to 2, 1, 0.618 and 0.347 over the curvature.
  EXPECT_NEAR(2 * stable_rate_share(0), 2, 1e-12);
  EXPECT_NEAR(2 * stable_rate_share(1), 1, 1e-12);
  EXPECT_NEAR(2 * stable_rate_share(2), 0.618, 5e-4);
  EXPECT_NEAR(2 * stable_rate_share(4), 0.347, 5e-4);
  EXPECT_DOUBLE_EQ(implicit_momentum(1), 0);
  EXPECT_DOUBLE_EQ(implicit_momentum(4), 0.75);
}

TEST(AdviseFormulas, LemmasOfZou) {
  EXPECT_NEAR(overhead_efficiency(0.05, 4), 0.875, 1e-12);
  EXPECT_NEAR(overhead_efficiency(0.05, 8), 0.75, 1e-12);
  EXPECT_NEAR(overhead_for_efficiency(0.9, 8), 0.016129, 1e-6);
  EXPECT_TRUE(std::isinf(overhead_for_efficiency(0.1, 8)));
  // ResNet-50's 102,228,128 bytes, 8 workers, 10 GbE, half a second of computation.
  EXPECT_EQ(parameter_servers(102'228'128, 8, 1.25e9, 0.5), 3);
  EXPECT_EQ(parameter_servers(1000, 2, 1e12, 1), 1);
}

TEST(AdviseFormulas, CheckpointInterval) {
  EXPECT_DOUBLE_EQ(checkpoint_interval(5, 1000), 100);
  EXPECT_DOUBLE_EQ(checkpoint_interval(300, 86'400), 7200);
  EXPECT_DOUBLE_EQ(checkpoint_interval(600, 1000), 1000) << "not longer than between two failures";
  // The expected time lost is least there: C / T + T / (2 M), a little beyond it either way.
  const auto lost = [](double t) { return 60 / t + t / (2 * 86'400); };
  const double best = checkpoint_interval(60, 86'400);
  EXPECT_LT(lost(best), lost(best * 1.1));
  EXPECT_LT(lost(best), lost(best * 0.9));
}

TEST(AdviseFormulas, SeedsForAVerdict) {
  EXPECT_EQ(seeds_for_verdict(2), 4);  // 2 / C(8, 4) = 0.029
  EXPECT_EQ(seeds_for_verdict(3), 5);  // 2 / C(10, 5) = 0.0079 <= 0.05 / 3
  EXPECT_EQ(seeds_for_verdict(27), 9);
}

TEST(AdviseFormulas, KneeOfThroughput) {
  EXPECT_EQ(throughput_knee({{8, 100}, {32, 310}, {64, 480}, {128, 500}}), 64);
  EXPECT_EQ(throughput_knee({{64, 480}, {64, 500}}), 0) << "one batch tells nothing";
  EXPECT_EQ(throughput_knee({{8, 10}, {8, 1000}, {8, 95}, {16, 100}}), 8) << "medians";
  EXPECT_EQ(power_of_two_below(1000), 512);
  EXPECT_EQ(power_of_two_below(0.5), 0);
}

// Checkpoint sizes in MB and seconds of 16 models (cake-lab/CM-DARE, Apache-2.0, ckpt.csv), whose
// notebook prints the line's coefficients.
const std::vector<Sample> checkpoints{{6.27, 3.79},  {15.99, 3.82}, {9.26, 3.54},   {10.57, 3.48},
                                      {12.78, 3.65}, {22.45, 3.97}, {28.7, 4.44},   {38.85, 4.65},
                                      {48.15, 5.0},  {54.26, 5.31}, {9.57, 4.35},   {26.39, 4.52},
                                      {54.19, 5.23}, {93.33, 5.86}, {143.01, 6.31}, {204.04, 7.66}};

TEST(Regressions, CheckpointTimesOfCmDare) {
  const auto fits = fit_regressions(checkpoints);
  ASSERT_EQ(fits.size(), 3u);
  const Regression& line = fits[0];
  ASSERT_EQ(line.model, "linear");
  EXPECT_NEAR(line.coefficients[0], 3.75119232, 1e-7);
  EXPECT_NEAR(line.coefficients[1], 0.02000607, 1e-8);
  EXPECT_NEAR(line.r2, 0.92225147, 1e-8);
  // Four models that were held out: predictions of the paper's notebook, and their mean error.
  const Sample held[] = {{19.21, 3.45}, {40.41, 4.20}, {33.18, 4.18}, {117.61, 5.65}};
  const double published[] = {4.1355, 4.5596, 4.4150, 6.1041};
  double error = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(line.at(held[i].x), published[i], 5e-5);
    error += std::abs(line.at(held[i].x) - held[i].y) / 4;
  }
  EXPECT_NEAR(error, 0.43356, 1e-5);
}

TEST(Regressions, RecoverWhatMadeTheNumbers) {
  std::vector<Sample> line, parabola, wave;
  for (int i = 0; i < 40; ++i) {
    const double x = 1e12 * (3 + i);
    line.push_back({x, 0.1785 + 6.00928e-14 * x});
    parabola.push_back({x, 0.1 + 9e-14 * x - 1.6e-27 * x * x});
    wave.push_back({x, 2 + std::sin(i / 3.0)});
  }
  auto fits = fit_regressions(line);
  EXPECT_NEAR(fits[0].coefficients[0], 0.1785, 1e-8);
  EXPECT_NEAR(fits[0].coefficients[1] / 6.00928e-14, 1, 1e-8);
  EXPECT_LT(fits[0].cv_mape, 1e-8);
  fits = fit_regressions(parabola);
  EXPECT_NEAR(fits[1].coefficients[0], 0.1, 1e-7);
  EXPECT_NEAR(fits[1].coefficients[1] / 9e-14, 1, 1e-6);
  EXPECT_NEAR(fits[1].coefficients[2] / -1.6e-27, 1, 1e-6);
  EXPECT_EQ(best_of(fits)->model, "quadratic");
  EXPECT_EQ(best_of(fit_regressions(wave))->model, "kernel") << "neither a line nor a parabola";
}

TEST(Regressions, NoKernelModelTellsOfWhatIsBeyondItsSamples) {
  std::vector<Sample> samples;
  for (double x = 1; x <= 100; x += 3)
    samples.push_back({x, 0.05 + 0.004 * x + 0.02 * std::sin(x / 9)});
  const auto fits = fit_regressions(samples);
  EXPECT_EQ(best_of(fits)->model, "kernel");
  EXPECT_EQ(best_at(fits, 50)->model, "kernel");
  for (const double x : {0.5, 100.5, 400.0}) {
    EXPECT_TRUE(best_at(fits, x)->outside(x));
    EXPECT_NE(best_at(fits, x)->model, "kernel") << x;
    EXPECT_FALSE(fits.back().tells(x));
  }
  EXPECT_NEAR(best_at(fits, 400)->at(400), 1.65, 0.3);
  EXPECT_EQ(best_at({}, 1), nullptr);
}

TEST(Regressions, NeedEnoughSizes) {
  EXPECT_TRUE(fit_regressions({}).empty());
  EXPECT_TRUE(fit_regressions({{1, 2}, {1, 3}, {2, 3}}).empty());
  EXPECT_EQ(best_of({}), nullptr);
  EXPECT_EQ(fit_regressions({{1, 2}, {2, 3}, {3, 4}, {std::nan(""), 1}}).size(), 1u);
  EXPECT_EQ(fit_regressions({{1, 2}, {2, 3}, {3, 4}, {4, 4}}).size(), 2u);
}

std::vector<Speed> by_workers(const std::vector<double>& steps_per_s) {
  std::vector<Speed> speeds;
  for (const double each : steps_per_s)
    speeds.push_back({static_cast<double>(speeds.size() + 1), each});
  return speeds;
}

// Steps per second of 1 to 8 workers with one parameter server, means of CM-DARE's measurements
// (cake-lab/CM-DARE, Apache-2.0): ResNet-32 on K80 and P100, Shake-Shake Big on P100.
const std::vector<double> k80{4.43, 8.68, 13.07, 17.98, 22.17, 26.2, 30.73, 34.95};
const std::vector<double> p100{11.36, 21.95, 33.97, 40.1, 43.9, 43.7, 46.3, 42.5};
const std::vector<double> p100_shake{2.10, 3.95, 4.93, 6.01, 6.14, 5.99, 4.91, 6.51};

TEST(ClusterSpeeds, FindTheBottleneckOfCmDare) {
  EXPECT_TRUE(std::isinf(ClusterSpeed(by_workers(k80)).bottleneck()));
  EXPECT_EQ(ClusterSpeed(by_workers(p100)).bottleneck(), 5);
  EXPECT_EQ(ClusterSpeed(by_workers(p100_shake)).bottleneck(), 4);
  EXPECT_TRUE(std::isinf(ClusterSpeed(by_workers({100, 200, 230, 400, 500, 600})).bottleneck()))
      << "one slow run is no bottleneck";
  EXPECT_TRUE(std::isinf(ClusterSpeed(by_workers({100, 110})).bottleneck())) << "too few to tell";
}

TEST(ClusterSpeeds, AreSumsUntilThen) {
  const ClusterSpeed free(by_workers({k80[0], k80[1]}));
  EXPECT_EQ(free.at(2), 8.68);
  EXPECT_NEAR(free.at(8), 34.72, 1e-9) << "measured: 34.95";
  EXPECT_NEAR(free.at(0.5), 2.215, 1e-9);
  const ClusterSpeed bound(by_workers(p100));
  EXPECT_LT(bound.at(16), 1.3 * 42.5) << "two times as many nodes as were measured";
  EXPECT_GT(bound.at(16), 42.5) << "it levels off, and does not fall";
  EXPECT_EQ(ClusterSpeed(by_workers({100, 200, 230, 400, 500, 600})).at(12), 1200)
      << "no more than the sum";
  const ClusterSpeed seeds({{1, 90}, {1, 100}, {1, 140}, {2, 190}});
  EXPECT_EQ(seeds.at(1), 100) << "the median";
  EXPECT_EQ(seeds.measured().size(), 2u);
  EXPECT_NEAR(bound.at(2.5), (21.95 + 33.97) / 2, 1e-9);
  EXPECT_TRUE(bound.is_measured(3));
  EXPECT_FALSE(bound.is_measured(9));
}

TEST(ClusterSpeeds, SayHowFarTheyMiss) {
  EXPECT_LT(ClusterSpeed(by_workers(k80)).mape(), 0.03);
  EXPECT_NEAR(ClusterSpeed(by_workers({10, 16})).mape(), 0.25, 1e-12) << "20 where 16 came out";
  EXPECT_TRUE(std::isnan(ClusterSpeed(by_workers({10})).mape()));
}

/// The mean of many runs with a checkpoint after each `interval` of work, none at the end.
double simulated_seconds(const Interrupted& run, double interval) {
  std::mt19937_64 random(7);
  std::exponential_distribution<double> next(1 / run.failures_s);
  constexpr int draws = 20'000;
  double sum = 0;
  for (int i = 0; i < draws; ++i) {
    double clock = 0, failure = next(random);
    for (double left = run.work_s; left > 0; left -= interval) {
      const double length = left > interval ? interval + run.checkpoint_s : left;
      double needed = length;
      while (failure < clock + needed) {
        clock = failure;
        failure = clock + next(random);
        needed = run.restart_s + length;
      }
      clock += needed;
    }
    sum += clock;
  }
  return sum / draws;
}

TEST(InterruptedRuns, TakeWhatASimulationTakes) {
  const Interrupted run{20'000, 30, 120, 3000};
  const double interval = checkpoint_interval(run.checkpoint_s, run.failures_s);
  EXPECT_NEAR(expected_seconds(run) / simulated_seconds(run, interval), 1, 0.01);
}

TEST(InterruptedRuns, TooShortForACheckpointTakeWhatASimulationTakes) {
  constexpr double never = 1e9;
  for (const Interrupted& run :
       {Interrupted{10, 60, 30, 100}, Interrupted{100, 60, 30, 100}, Interrupted{100, 5, 20, 3000}})
    EXPECT_NEAR(expected_seconds(run) / simulated_seconds(run, never), 1, 0.03) << run.work_s;
}

TEST(InterruptedRuns, WithoutInterruptionsTakeTheirWork) {
  EXPECT_EQ(expected_seconds({100, 5, 20, std::numeric_limits<double>::infinity()}), 100);
  EXPECT_NEAR(expected_seconds({100, 0, 20, 1e4}), 1e4 * std::exp(20 / 1e4) * std::expm1(0.01),
              1e-9)
      << "without checkpoints all of it is done again";
  EXPECT_GT(expected_seconds({1000, 5, 20, 1000}), expected_seconds({1000, 5, 20, 2000}));
}

TEST(AdviseRules, HaveNamesSourcesAndFunctions) {
  std::set<std::string> names;
  for (const Rule& rule : rules()) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
    EXPECT_THAT(rule.question, testing::EndsWith("?")) << rule.name;
    EXPECT_GT(std::string(rule.source).size(), 10u) << rule.name;
    ASSERT_NE(rule.apply, nullptr) << rule.name;
  }
}

TEST(AdviseRules, AreInTheTableOfTheReadme) {
  std::ifstream file(std::filesystem::path(THALWEG_SOURCE_DIR) / "jobspec/advise/README.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  for (const Rule& rule : rules())
    EXPECT_THAT(text, HasSubstr("`" + std::string(rule.name) + "`"));
}

TEST_F(AdviseTest, NothingIsWrongWithAUsualSweep) {
  for (const Advice& advice : advise(study_))
    EXPECT_THAT(advice.finding.verdict, testing::AnyOf(Verdict::fits, Verdict::unknown))
        << advice.rule->name << ": " << advice.finding.text;
}

TEST_F(AdviseTest, EqualFindingsAreOne) {
  another();
  EXPECT_EQ(only("global_batch").trials, (std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST_F(AdviseTest, Parallelism) {
  EXPECT_EQ(verdict("parallelism"), Verdict::fits);
  configuration().memory->activations = 100e9;
  EXPECT_THAT(only("parallelism").text, HasSubstr("neither the model"));
  configuration().samples = 1000;
  EXPECT_EQ(verdict("parallelism"), Verdict::warning);
  EXPECT_THAT(only("parallelism").text, HasSubstr("model parallelism"));
  configuration().resources.memory_mib = 128 * 1024;
  EXPECT_EQ(verdict("parallelism"), Verdict::fits) << "what is asked for counts";
  configuration().resources.ranks_per_node = 2;
  EXPECT_EQ(verdict("parallelism"), Verdict::warning) << "each rank has a model";
  configuration().on_gpu = true;
  configuration().memory->activations = 50e9;
  EXPECT_EQ(verdict("parallelism"), Verdict::fits) << "each in a GPU of its own";
  study_.machines.gpu_bytes = 0;
  EXPECT_EQ(verdict("parallelism"), Verdict::unknown);
}

TEST_F(AdviseTest, Minibatch) {
  // 68.7 GB less 0.4 GB beside the activations; 15.6 MB of these a sample.
  EXPECT_THAT(only("minibatch").text, HasSubstr("up to 4,096 fit"));
  configuration().resources.memory_mib = 2 * 1024;
  EXPECT_EQ(verdict("minibatch"), Verdict::warning);
  EXPECT_THAT(only("minibatch").text, HasSubstr("at most 64"));
  set("sync.accumulate", 4);
  configuration().memory->activations = 1e9;
  EXPECT_EQ(verdict("minibatch"), Verdict::fits) << "micro-batches of 64";
  configuration().resources.memory_mib = 300;
  EXPECT_THAT(only("minibatch").text, HasSubstr("not even one sample"));
}

TEST_F(AdviseTest, DatasetSize) {
  EXPECT_THAT(only("dataset_size").text, HasSubstr("ResNet-50"));
  EXPECT_EQ(verdict("dataset_size"), Verdict::fits);
  configuration().parameters = 7e6;
  configuration().samples = 99'456;
  EXPECT_EQ(verdict("dataset_size"), Verdict::fits) << "CosmoFlow converged";
  configuration().samples = 97'000;
  EXPECT_EQ(verdict("dataset_size"), Verdict::warning);
  set("data.name", "tokens");
  EXPECT_TRUE(found("dataset_size").empty());
}

TEST_F(AdviseTest, DatasetGrowth) {
  EXPECT_TRUE(found("dataset_growth").empty());
  configuration().samples = 100'000;  // of 350,000
  EXPECT_THAT(only("dataset_growth").text,
              AllOf(HasSubstr("4-fold, to 350,000"), HasSubstr("data.duplicate: 2")));
  set("augment.flip", 0.0);
  EXPECT_THAT(only("dataset_growth").text,
              AllOf(HasSubstr("data.duplicate: 2"), Not(HasSubstr("init_from"))));
  for (const double samples : {550.0, 3000.0, 34'000.0, 90'000.0}) {
    configuration().samples = samples;
    EXPECT_THAT(only("dataset_growth").text, HasSubstr("data.duplicate: 2 where"))
        << samples << ": no publication had more copies";
    EXPECT_EQ(only("dataset_growth").text.find("init_from") != std::string::npos, samples < 35'000);
  }
  set("data.duplicate", 2);
  EXPECT_THAT(only("dataset_growth").text, Not(HasSubstr("data.duplicate")));
}

TEST_F(AdviseTest, Subset) {
  EXPECT_TRUE(found("subset").empty());
  set("data.fraction", 0.1);
  EXPECT_THAT(only("subset").text, HasSubstr("submit --from ID --best"));
}

TEST_F(AdviseTest, GlobalBatch) {
  configuration().batch = 1131;
  EXPECT_EQ(verdict("global_batch"), Verdict::fits);
  configuration().batch = 1132;
  EXPECT_EQ(verdict("global_batch"), Verdict::advice) << "never more than advice";
  EXPECT_THAT(only("global_batch").numbers, Contains(Pair("root of samples", "1,131")));
}

TEST_F(AdviseTest, CriticalBatch) {
  EXPECT_EQ(verdict("critical_batch"), Verdict::unknown);
  add_run(1, 256, 100).noise_unsettled = true;
  EXPECT_EQ(verdict("critical_batch"), Verdict::unknown);
  EXPECT_THAT(only("critical_batch").text, HasSubstr("too short for it to settle"));
  add_run(1, 256, 100).noise_scale = 4;
  EXPECT_EQ(verdict("critical_batch"), Verdict::fits) << "a single run warns of nothing";
  EXPECT_THAT(only("critical_batch").text,
              HasSubstr("in one run, which says nothing about chance"));
  study_.experience.runs.clear();
  for (const double scale : {1000 / 1.01, 1000.0, 1010.0})
    add_run(1, 256, 100).noise_scale = scale;
  EXPECT_EQ(verdict("critical_batch"), Verdict::fits);
  EXPECT_THAT(only("critical_batch").numbers, Contains(Pair("noise scale", "1,000")));
  EXPECT_THAT(only("critical_batch").text, HasSubstr("a noise scale of 1,000 (95 % interval 976 "
                                                     "to 1,025)"));
  configuration().batch = 4001;
  EXPECT_EQ(verdict("critical_batch"), Verdict::fits) << "not of all that the interval allows";
  configuration().batch = 4101;
  EXPECT_EQ(verdict("critical_batch"), Verdict::warning);
  configuration().batch = 249;
  EXPECT_EQ(verdict("critical_batch"), Verdict::fits);
  configuration().batch = 243;
  EXPECT_EQ(verdict("critical_batch"), Verdict::advice);
  set("model.name", "lenet");
  EXPECT_EQ(verdict("critical_batch"), Verdict::unknown) << "of another model";
}

TEST_F(AdviseTest, LocalBatch) {
  add_run(1, 8, 100);
  EXPECT_EQ(verdict("local_batch"), Verdict::unknown);
  add_run(1, 64, 480);
  add_run(1, 128, 500);
  EXPECT_EQ(verdict("local_batch"), Verdict::fits);
  configuration().ranks = 8;
  EXPECT_EQ(verdict("local_batch"), Verdict::warning) << "32 a rank";
  add_run(3, 64, 300);
  add_run(3, 192, 1400);
  add_run(3, 384, 1450);
  configuration().ranks = 3;
  EXPECT_THAT(only("local_batch").text, HasSubstr("(90 % of the best from 64 on)"));
  study_.experience.runs[3].samples_per_s = 1400;
  EXPECT_THAT(only("local_batch").text, HasSubstr("(90 % of the best from 22 on)"))
      << "21 1/3 samples a rank are none";
  configuration().on_gpu = true;
  EXPECT_EQ(verdict("local_batch"), Verdict::unknown) << "measured on the cpu";
}

TEST_F(AdviseTest, OptimizerByBatch) {
  EXPECT_EQ(verdict("optimizer"), Verdict::fits);
  configuration().batch = 8192;
  EXPECT_EQ(verdict("optimizer"), Verdict::fits);
  configuration().batch = 16'384;
  EXPECT_THAT(only("optimizer").text, HasSubstr("lars"));
  set("optimizer.larc", "clip");
  EXPECT_EQ(verdict("optimizer"), Verdict::fits);
  set("optimizer.larc", "none");
  set("optimizer.name", "adam");
  EXPECT_THAT(only("optimizer").text, HasSubstr("lamb"));
  set("optimizer.name", "lamb");
  EXPECT_EQ(verdict("optimizer"), Verdict::fits);
  configuration().batch = 131'072;
  EXPECT_THAT(only("optimizer").text, HasSubstr("beyond all that was published"));
  set("optimizer.name", "lars");
  EXPECT_THAT(only("optimizer").text, HasSubstr("lars went up to 32,768"));
  configuration().batch = 32'768;
  EXPECT_EQ(verdict("optimizer"), Verdict::fits);
  set("optimizer.name", "sgd");
  configuration().batch = 65'536;
  EXPECT_THAT(only("optimizer").text, HasSubstr("adasum"));
  set("sync.mode", "adasum");
  configuration().batch = 256;
  EXPECT_THAT(only("optimizer").text, HasSubstr("adam is the usual start"));
  add_axis("optimizer.name");
  EXPECT_EQ(verdict("optimizer"), Verdict::fits) << "a baseline of a comparison";
  set("optimizer.name", "prodigy");
  set("optimizer.lr", 0.001);
  EXPECT_THAT(only("optimizer").text, HasSubstr("should be 1"));
  set("optimizer.lr", 1.0);
  EXPECT_EQ(verdict("optimizer"), Verdict::fits);
}

TEST_F(AdviseTest, AdasumRate) {
  EXPECT_TRUE(found("adasum_rate").empty());
  set("sync.mode", "adasum");
  configuration().ranks = 4;
  EXPECT_EQ(verdict("adasum_rate"), Verdict::advice);
  set("schedule.scaling", "linear");
  EXPECT_EQ(verdict("adasum_rate"), Verdict::warning);
}

TEST_F(AdviseTest, RateScaling) {
  another().batch = 1024;
  EXPECT_EQ(verdict("rate_scaling"), Verdict::warning);
  add_axis("optimizer.lr");
  EXPECT_EQ(verdict("rate_scaling"), Verdict::fits);
  sweep_.zip = {{"batch.global", "optimizer.lr"}};
  EXPECT_EQ(verdict("rate_scaling"), Verdict::advice) << "each batch has one rate";
  sweep_.zip.clear();
  sweep_.axes.clear();
  for (Configuration& c : study_.configurations) {
    c.train.set("schedule.scaling", "linear");
    c.train.set("schedule.scaling_batch", 64);
  }
  EXPECT_TRUE(found("rate_scaling").empty()) << "16 times, linear";
  study_.configurations.back().batch = 2048;
  EXPECT_EQ(verdict("rate_scaling"), Verdict::advice) << "32 times";
}

TEST_F(AdviseTest, WeakScaling) {
  EXPECT_TRUE(found("weak_scaling").empty());
  add_axis("resources.nodes");
  Configuration& large = another();
  large.ranks = 8;
  EXPECT_THAT(only("weak_scaling").text, HasSubstr("local batch falls to 32"));
  study_.configurations.back().batch = 2048;
  EXPECT_EQ(verdict("weak_scaling"), Verdict::warning);
  EXPECT_TRUE(found("rate_scaling").empty()) << "said once";
  add_axis("optimizer.lr");
  EXPECT_EQ(verdict("weak_scaling"), Verdict::fits);
  EXPECT_THAT(only("weak_scaling").text,
              AllOf(HasSubstr("meets the same learning rates"), Not(HasSubstr("rate grow"))));
  sweep_.zip = {{"resources.nodes", "optimizer.lr"}};
  EXPECT_THAT(only("weak_scaling").text, HasSubstr("zipped"));
  sweep_.zip.clear();
  sweep_.axes.pop_back();
  for (Configuration& c : study_.configurations)
    c.train.set("schedule.scaling", "auto");
  EXPECT_EQ(verdict("weak_scaling"), Verdict::fits);
}

TEST_F(AdviseTest, Warmup) {
  set("schedule.scaling", "auto");
  set("schedule.scaling_batch", 32);
  EXPECT_EQ(verdict("warmup"), Verdict::warning) << "8 times";
  set("schedule.scaling_batch", 64);
  EXPECT_EQ(verdict("warmup"), Verdict::advice);
  set("schedule.warmup", "linear");
  EXPECT_EQ(verdict("warmup"), Verdict::fits);
  set("schedule.decay", "one-cycle");
  EXPECT_THAT(only("warmup").text, HasSubstr("multiplies it"));
  for (const char* decay : {"one-cycle", "list"}) {
    set("schedule.decay", decay);
    set("schedule.warmup", "none");
    EXPECT_EQ(verdict("warmup"), Verdict::fits) << decay << " has its own";
  }
  set("schedule.scaling_batch", 256);
  EXPECT_TRUE(found("warmup").empty()) << "nothing is scaled";
}

TEST_F(AdviseTest, Decay) {
  EXPECT_EQ(verdict("decay"), Verdict::fits);
  set("schedule.decay", "constant");
  EXPECT_EQ(verdict("decay"), Verdict::advice);
  set("batch_growth.by", "epochs");
  EXPECT_EQ(verdict("decay"), Verdict::fits) << "a batch that grows decays the noise";
  set("batch_growth.by", "none");
  set("optimizer.name", "schedule_free_adamw");
  EXPECT_EQ(verdict("decay"), Verdict::fits);
  set("schedule.decay", "cosine");
  EXPECT_EQ(verdict("decay"), Verdict::warning);
}

TEST_F(AdviseTest, SyncMode) {
  EXPECT_EQ(verdict("sync_mode"), Verdict::fits);
  set("sync.mode", "local");
  EXPECT_EQ(verdict("sync_mode"), Verdict::warning) << "one rank";
  configuration().ranks = 4;
  EXPECT_EQ(verdict("sync_mode"), Verdict::advice);
  another().train.set("sync.mode", "sync");
  EXPECT_EQ(found("sync_mode").front().verdict, Verdict::fits);
}

TEST_F(AdviseTest, Lag) {
  EXPECT_TRUE(found("lag").empty());
  set("sync.mode", "lag");
  set("sync.lag", 1);
  EXPECT_EQ(verdict("lag"), Verdict::warning) << "momentum 0.9";
  EXPECT_THAT(only("lag").text, HasSubstr("leaves 0.5"));
  set("optimizer.momentum", 0.4);
  EXPECT_EQ(verdict("lag"), Verdict::advice);
  set("sync.lag", 0);
  EXPECT_TRUE(found("lag").empty());
  set("sync.mode", "abs");
  EXPECT_EQ(verdict("lag"), Verdict::advice);
  EXPECT_THAT(only("lag").text, HasSubstr("a lag of 1 leaves 0.5"));
  EXPECT_THAT(only("lag").text, HasSubstr("sync/round_size"));
  set("optimizer.momentum", 0.9);
  EXPECT_EQ(verdict("lag"), Verdict::warning);
}

TEST_F(AdviseTest, Asynchrony) {
  configuration().ranks = 4;
  EXPECT_TRUE(found("asynchrony").empty());
  set("sync.mode", "async");
  EXPECT_EQ(verdict("asynchrony"), Verdict::warning) << "momentum 0.9";
  EXPECT_THAT(only("asynchrony").text, HasSubstr("have an implicit momentum of 0.75"));
  set("optimizer.momentum", 0.4);
  EXPECT_EQ(verdict("asynchrony"), Verdict::advice);
  set("sync.mode", "hybrid");
  set("sync.groups", 2);
  EXPECT_THAT(only("asynchrony").text,
              HasSubstr("2 asynchronous groups have an implicit momentum of 0.5"));
  set("sync.groups", 1);
  EXPECT_TRUE(found("asynchrony").empty());
  set("sync.mode", "async");
  configuration().ranks = 1;
  EXPECT_TRUE(found("asynchrony").empty());
}

TEST_F(AdviseTest, Transport) {
  EXPECT_TRUE(found("transport").empty()) << "one node";
  configuration().resources.nodes = 4;
  EXPECT_EQ(verdict("transport"), Verdict::unknown);
  add_run(4, 256, 100).transport = {"tcp/eth0"};
  EXPECT_EQ(verdict("transport"), Verdict::warning);
  study_.experience.runs.back().transport = {"tcp/eth0", "rc_mlx5/mlx5_0"};
  EXPECT_EQ(verdict("transport"), Verdict::fits);
}

TEST_F(AdviseTest, ParameterServers) {
  configuration().ranks = 8;
  EXPECT_TRUE(found("parameter_servers").empty()) << "no link is known";
  study_.machines.link_bytes_per_s = 1.25e9;
  EXPECT_EQ(verdict("parameter_servers"), Verdict::unknown);
  add_run(1, 256, 100).compute_ms = 500;
  configuration().parameters = 25'557'032;
  EXPECT_THAT(only("parameter_servers").text,
              testing::AllOf(HasSubstr("3 parameter servers would hide the traffic of 8 workers"),
                             HasSubstr("sync.servers: 3 (mode async or hybrid)")));
  EXPECT_EQ(verdict("parameter_servers"), Verdict::fits);
  set("sync.mode", "async");
  set("sync.servers", 2);
  configuration().ranks = 10;
  EXPECT_EQ(verdict("parameter_servers"), Verdict::advice) << "too few";
  EXPECT_THAT(only("parameter_servers").text,
              HasSubstr("3 parameter servers would hide the traffic of 8 workers, and "
                        "sync.servers is 2"));
  set("sync.servers", 3);
  configuration().ranks = 11;
  EXPECT_EQ(verdict("parameter_servers"), Verdict::fits);
}

TEST_F(AdviseTest, Nodes) {
  EXPECT_EQ(verdict("nodes"), Verdict::fits);
  configuration().resources.nodes = 65;
  EXPECT_EQ(verdict("nodes"), Verdict::warning);
  configuration().resources.nodes = 64;
  configuration().ranks = 512;
  EXPECT_EQ(verdict("nodes"), Verdict::warning) << "half a sample each";
}

TEST_F(AdviseTest, ScalingLimit) {
  EXPECT_TRUE(found("scaling_limit").empty()) << "one rank";
  configuration().ranks = 8;
  EXPECT_EQ(verdict("scaling_limit"), Verdict::unknown);
  // Steps per second of 1 to 8 workers with one parameter server (P100, ResNet-32:
  // arXiv:2004.03072).
  const double measured[] = {11.36, 21.95, 33.97, 40.1, 43.9, 43.7, 46.3, 42.5};
  for (int ranks = 1; ranks <= 8; ++ranks)
    add_run(ranks, 256, measured[ranks - 1]).compute_ms = 100;
  EXPECT_EQ(verdict("scaling_limit"), Verdict::warning);
  EXPECT_THAT(only("scaling_limit").text,
              HasSubstr("beyond about 4, another one gains less than half of what it costs, by a "
                        "fit to 8 runs"));
  configuration().ranks = 4;
  EXPECT_EQ(verdict("scaling_limit"), Verdict::fits);
  // The same model on K80s scales.
  study_.experience.runs.clear();
  const double linear[] = {4.43, 8.68, 13.07, 17.98, 22.17, 26.2, 30.73, 34.95};
  for (int ranks = 1; ranks <= 8; ++ranks)
    add_run(ranks, 256, linear[ranks - 1]).compute_ms = 100;
  configuration().ranks = 8;
  EXPECT_EQ(verdict("scaling_limit"), Verdict::fits);
  study_.experience.runs.clear();
  add_run(1, 256, 100).compute_ms = 100;
  study_.experience.runs.back().exposed_ms = 20;
  EXPECT_EQ(verdict("scaling_limit"), Verdict::warning) << "(1 + 0.2) / (1 + 8 x 0.2) = 46 %";
  EXPECT_THAT(only("scaling_limit").text, HasSubstr("46 %"));
}

/// Runs that ought not to stand in one series with this sweep's do not change what is said of it.
TEST_F(AdviseTest, UnlikeRunsAreLeftOut) {
  configuration().ranks = 4;
  set("precision", "fp32");
  configuration().resources.threads_per_rank = 2;
  const auto like = [&](int ranks, double batch, double speed) -> PastRun& {
    PastRun& run = add_run(ranks, batch, speed);
    run.precision = "fp32";
    run.augmentation = configuration().train.find("augment")->canonical();
    run.mode = "sync";
    run.threads = 2;
    run.noise_scale = 1000 + ranks;
    return run;
  };
  for (const int ranks : {1, 2, 4})
    for (const double noise : {0.99, 1.01})
      like(ranks, 256, 1000 * ranks * noise);
  like(4, 64, 3000);
  const auto said = [&] {
    std::string text;
    for (const char* rule : {"scaling_limit", "local_batch", "critical_batch"})
      text += only(rule).text + "\n";
    return text;
  };
  const std::string before = said();
  EXPECT_THAT(before, HasSubstr("100 % of as many single ranks"));
  like(2, 256, 300).precision = "bf16";
  like(2, 256, 300).augmentation = R"({"flip":0.25})";
  for (PastRun& run : study_.experience.runs)
    if (run.precision == "bf16" || run.augmentation.find("0.25") != std::string::npos)
      run.noise_scale = 3;
  like(2, 256, 300).threads = 1;
  like(2, 256, 300).mode = "async";
  like(2, 256, 300).device = "cuda";
  for (std::size_t i = study_.experience.runs.size() - 3; i < study_.experience.runs.size(); ++i)
    study_.experience.runs[i].noise_scale = 0;
  like(2, 100, 300).noise_scale = 0;  // neither this batch nor so many samples a rank
  EXPECT_EQ(said(), before);
  like(2, 256, 300);
  EXPECT_NE(said(), before);
}

TEST_F(AdviseTest, Queue) {
  EXPECT_TRUE(found("queue").empty()) << "not for Slurm";
  study_.machines.slurm = true;
  EXPECT_EQ(verdict("queue"), Verdict::unknown);
  study_.experience.waits = {{1, 10, 60}, {32, 4, 20'000}};
  EXPECT_EQ(verdict("queue"), Verdict::fits);
  configuration().resources.nodes = 24;
  EXPECT_EQ(verdict("queue"), Verdict::advice);
  EXPECT_THAT(only("queue").text, HasSubstr("jobs of 32 nodes waited 5.56 h"));
}

TEST_F(AdviseTest, Seeds) {
  EXPECT_TRUE(found("seeds").empty()) << "one configuration";
  another();
  EXPECT_EQ(verdict("seeds"), Verdict::fits) << "4 seeds, 2 rows";
  another();
  EXPECT_EQ(verdict("seeds"), Verdict::advice) << "5 for 3 rows";
  sweep_.seeds = {1};
  EXPECT_THAT(only("seeds").text, HasSubstr("single runs"));
  sweep_.study.emplace();
  sweep_.study->arms.resize(3);
  sweep_.study->final_seeds = {2, 3, 4, 5};
  EXPECT_EQ(verdict("seeds"), Verdict::advice) << "of winners, 5 for 3 of them";
  sweep_.study->final_seeds.push_back(6);
  EXPECT_EQ(verdict("seeds"), Verdict::fits);
  sweep_.study.reset();
  sweep_.seed_looks = SeedLooks{4, 2, 8};
  EXPECT_EQ(verdict("seeds"), Verdict::fits) << "6 for 3 rows at three looks";
  EXPECT_THAT(only("seeds").text, HasSubstr("12 to 24 trials"));
  sweep_.seed_looks = SeedLooks{2, 1, 3};
  EXPECT_EQ(verdict("seeds"), Verdict::advice) << "7 for 6 rows at two looks";
}

TEST_F(AdviseTest, Checkpoints) {
  EXPECT_EQ(verdict("checkpoints"), Verdict::unknown);
  add_run(1, 256, 1000).checkpoint_s = 60;
  study_.experience.node_seconds = 10 * 86'400;
  EXPECT_THAT(only("checkpoints").text, HasSubstr("no attempt has lost a node in 10 days"));
  study_.experience.lost_nodes = 10;
  // An epoch takes 1280 s at 1000 samples/s; sqrt(2 x 60 s x 1 day) is 53.7 min.
  EXPECT_THAT(only("checkpoints").text, HasSubstr("every 53.7 min loses least"));
  EXPECT_EQ(verdict("checkpoints"), Verdict::fits) << "an epoch, 21 min";
  set("checkpoint.every", 1000);
  EXPECT_THAT(only("checkpoints").text, HasSubstr("take 23 % of the time")) << "256 s apart";
  EXPECT_EQ(verdict("checkpoints"), Verdict::advice);
  set("checkpoint.every_seconds", 20'000);
  EXPECT_THAT(only("checkpoints").text, HasSubstr("checkpoint.every_seconds: auto"));
  set("checkpoint.every_seconds", "auto");
  EXPECT_EQ(verdict("checkpoints"), Verdict::fits);
}

}  // namespace
}  // namespace thalweg::jobspec::advise
