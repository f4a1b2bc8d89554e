// Critical batch, scaling, Pareto frontiers and profiles: the arithmetic against published numbers,
// and what is read from the record.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <random>

#include "db/analysis/compare.h"
#include "db/analysis/critical_batch.h"
#include "db/analysis/forecast.h"
#include "db/analysis/importance.h"
#include "db/analysis/measurements.h"
#include "db/analysis/pareto.h"
#include "db/analysis/profile.h"
#include "db/analysis/rcp.h"
#include "db/analysis/records.h"
#include "db/analysis/scaling.h"
#include "db/analysis/tuneability.h"
#include "db/studies/study.h"
#include "tests/db/fixture.h"

namespace thalweg::db::analysis {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(BatchFit, IsExactOnTheLaw) {
  const auto fit = fit_batches({{100, 11'000}, {1000, 2000}, {10'000, 1100}});
  ASSERT_TRUE(fit && fit->within);
  EXPECT_NEAR(fit->s_min, 1000, 1e-3);
  EXPECT_NEAR(fit->e_min, 1e6, 1);
  EXPECT_NEAR(fit->b_crit, 1000, 1e-3);
  EXPECT_NEAR(fit->residual, 0, 1e-6);
  EXPECT_NEAR(fit->steps_at(4000), 1250, 1e-3);
}

// Mean epochs to converge of MLPerf HPC 1.0's reference convergence points (mlcommons/logging,
// hpc_1.0.0/rcps_deepcam.json) with 121,266 samples, and their least-squares fit by a program of
// its own.
TEST(BatchFit, OfDeepCam) {
  constexpr double samples = 121'266;
  std::vector<std::pair<double, double>> points;
  for (const auto& [batch, epochs] :
       {std::pair{128.0, 9.0}, std::pair{256.0, 9.0}, std::pair{512.0, 11.15},
        std::pair{1024.0, 13.0}, std::pair{2048.0, 22.9}})
    points.emplace_back(batch, epochs * samples / batch);
  const auto fit = fit_batches(points);
  ASSERT_TRUE(fit && fit->within);
  EXPECT_NEAR(fit->b_crit, 1148.2, 1);
  EXPECT_NEAR(fit->s_min, 806.6, 1);
  EXPECT_NEAR(fit->e_min, 926.1e3, 1e3);
  EXPECT_NEAR(fit->residual, 0.0657, 0.001);
  EXPECT_LT(fit->low, 1148);
  EXPECT_GT(fit->high, 1148);
}

// Steps to 14 % error of an MLP on Fashion-MNIST (measured with PyTorch, one seed, best rate of
// powers of 2 at every batch).
TEST(BatchFit, OfFashionMnist) {
  const auto fit =
      fit_batches({{16, 3400}, {64, 800}, {256, 240}, {1024, 110}, {4096, 70}, {16'384, 80}});
  ASSERT_TRUE(fit && fit->within);
  EXPECT_NEAR(fit->b_crit, 724, 8);
  EXPECT_NEAR(fit->s_min, 67, 1);
  EXPECT_NEAR(fit->e_min, 48.3e3, 500);
  EXPECT_NEAR(fit->residual, 0.089, 0.001);
}

TEST(BatchFit, SaysWhereTheBatchesDoNotTell) {
  EXPECT_FALSE(fit_batches({{64, 800}, {128, 400}}));
  EXPECT_FALSE(fit_batches({{64, 800}, {128, 400}, {128, 420}}));
  const auto falling = fit_batches({{16, 1600}, {32, 800}, {64, 400}, {128, 200}});
  ASSERT_TRUE(falling);
  EXPECT_FALSE(falling->within) << "perfect scaling throughout";
  EXPECT_EQ(falling->high, infinity);
  const auto flat = fit_batches({{16, 100}, {32, 100}, {64, 100}});
  ASSERT_TRUE(flat);
  EXPECT_FALSE(flat->within);
  EXPECT_EQ(flat->low, 0);
}

TEST(BatchFit, TheIntervalHoldsTheTruthAboutAsOftenAsItSays) {
  std::mt19937 random(1);
  std::normal_distribution<double> noise(0, 0.1);
  const double truth = 700;
  const double batches[] = {16, 64, 256, 1024, 4096, 16'384};
  constexpr int draws = 2000;
  int held = 0;
  for (int i = 0; i < draws; ++i) {
    std::vector<std::pair<double, double>> points;
    for (const double batch : batches)
      points.emplace_back(batch, 70 * (1 + truth / batch) * std::exp(noise(random)));
    const auto fit = fit_batches(points);
    held += fit->low <= truth && truth <= fit->high ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(held) / draws, 0.95, 0.02);
}

TEST(BatchFit, TheIntervalHoldsOfStepsThatAreRounded) {
  std::mt19937 random(1);
  std::normal_distribution<double> noise(0, 0.03);
  const double truth = 400;
  constexpr int draws = 2000;
  constexpr double interval = 20;  // of reports
  int held = 0, narrow = 0;
  for (int i = 0; i < draws; ++i) {
    std::vector<std::pair<double, double>> points;
    double variance = 0;
    for (const double batch : {50.0, 400.0, 3200.0}) {
      const double steps = 100 * (1 + truth / batch) * std::exp(noise(random));
      points.emplace_back(batch, interval * std::ceil(steps / interval));
      variance += (std::pow(interval / points.back().second, 2) / 12 + 0.03 * 0.03) / 3;
    }
    const auto fit = fit_batches(points, variance);
    held += fit->low <= truth && truth <= fit->high ? 1 : 0;
    narrow += fit->high < 1.02 * fit->low ? 1 : 0;
  }
  EXPECT_GE(static_cast<double>(held) / draws, 0.93);
  EXPECT_EQ(narrow, 0);
}

TEST(BatchFit, Regimes) {
  EXPECT_EQ(regime_of(100, 1000), "perfect scaling");
  EXPECT_EQ(regime_of(1000, 1000), "diminishing returns");
  EXPECT_EQ(regime_of(8000, 1000), "maximal data parallelism");
}

// HetSeq (arXiv:2009.14783), BERT on 1 to 8 nodes: days, speed-up and expansion.
TEST(Scaling, HetSeqsTable) {
  std::vector<Speed> speeds;
  for (const auto& [nodes, days] :
       {std::pair{1, 7.19}, std::pair{2, 4.19}, std::pair{4, 2.23}, std::pair{8, 1.21}})
    speeds.push_back({static_cast<double>(nodes), 1 / days});
  const auto gains = gains_of(speeds);
  const double speedups[] = {1, 1.72, 3.22, 5.94}, expansions[] = {1, 0.86, 0.81, 0.74};
  for (std::size_t i = 0; i < gains.size(); ++i) {
    EXPECT_NEAR(gains[i].speedup, speedups[i], 0.005);
    EXPECT_NEAR(gains[i].efficiency, expansions[i], 0.005);
  }
}

// CosmoFlow on KNL nodes, samples per second (sparticlesteve/cosmoflow-benchmark).
TEST(Scaling, CosmoFlowsEfficiency) {
  std::vector<Speed> speeds;
  for (const auto& [nodes, rate] : {std::pair{1, 3.70}, std::pair{64, 210.9}, std::pair{256, 797.0},
                                    std::pair{512, 1548.0}, std::pair{1024, 2946.0}})
    speeds.push_back({static_cast<double>(nodes), rate});
  const auto gains = gains_of(speeds);
  const double published[] = {1, 0.892, 0.842, 0.818, 0.779};
  for (std::size_t i = 0; i < gains.size(); ++i)
    EXPECT_NEAR(gains[i].efficiency, published[i], 0.002) << i;
}

TEST(Pareto, KeepsWhatNobodyBeats) {
  EXPECT_THAT(pareto_frontier({{1, 8}, {2, 4}, {3, 4}, {4, 1}, {4, 1}, {5, 5}, {infinity, 0}}),
              ElementsAre(true, true, false, true, true, false, false));
  EXPECT_TRUE(pareto_frontier({}).empty());
}

/// y = f(a, b, c) of every combination; a and b from 0 to 4, c one of three words.
std::vector<Outcome> grid(const std::function<double(double, double, int)>& f) {
  std::vector<Outcome> outcomes;
  const char* words[] = {"sgd", "adam", "lion"};
  for (int a = 0; a < 5; ++a)
    for (int b = 0; b < 5; ++b)
      for (int c = 0; c < 3; ++c)
        outcomes.push_back(
            {{jobspec::Value(a), jobspec::Value(b), jobspec::Value(words[c])}, f(a, b, c)});
  return outcomes;
}

TEST(Importance, OfASumIsInProportionToSquares) {
  const Importance found =
      importance_of({"a", "b", "c"}, grid([](double a, double b, int) { return 3 * a + b; }));
  ASSERT_EQ(found.parameters.size(), 3u);
  EXPECT_EQ(found.parameters[0].name, "a");
  EXPECT_NEAR(found.parameters[0].main, 0.9, 0.04);
  EXPECT_NEAR(found.parameters[0].total, 0.9, 0.04);
  EXPECT_NEAR(found.parameters[1].main, 0.1, 0.04);
  EXPECT_NEAR(found.parameters[2].total, 0, 0.01);
  EXPECT_EQ(found.parameters[2].values, 3);
  EXPECT_TRUE(found.pairs.empty());
  EXPECT_GT(found.explained, 0.99);
}

TEST(Importance, OfAProductIsOfThePair) {
  // (a - 2)(b - 2): neither does anything alone.
  const Importance found = importance_of(
      {"a", "b", "c"}, grid([](double a, double b, int) { return (a - 2) * (b - 2); }));
  EXPECT_LT(found.parameters[0].main, 0.1);
  EXPECT_GT(found.parameters[0].total, 0.85);
  ASSERT_GE(found.pairs.size(), 1u);
  EXPECT_EQ(found.pairs[0].first + found.pairs[0].second, "ab");
  EXPECT_GT(found.pairs[0].share, 0.85);
}

TEST(Importance, OfWordsAndLogarithms) {
  std::vector<Outcome> outcomes;
  const char* words[] = {"sgd", "adam"};
  for (int i = 0; i < 60; ++i) {
    const double rate = std::pow(10.0, -5 + i / 12.0);
    for (int word = 0; word < 2; ++word)
      outcomes.push_back({{jobspec::Value(rate), jobspec::Value(words[word])},
                          std::log10(rate) + (word == 1 ? 1.0 : 0.0)});
  }
  const Importance found = importance_of({"lr", "name"}, outcomes);
  // A decade's variance of 5^2 / 12 against 1 / 4.
  EXPECT_NEAR(found.parameters[0].main, 0.893, 0.05);
  EXPECT_EQ(found.parameters[0].name, "lr");
  EXPECT_NEAR(found.parameters[1].main, 0.107, 0.05);
}

using Function = std::function<double(double x, double y, double z, int k)>;

/// Points of a design and their results: each draw of x, y and z is unlike all others but in a
/// grid.
std::vector<Outcome> designed(const std::string& design, std::uint32_t seed, const Function& f) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform;
  std::normal_distribution<double> near(0, 0.12);
  std::vector<Outcome> outcomes;
  for (int i = 0; i < 128; ++i) {
    double p[3] = {};
    int k = static_cast<int>(random() % 2);
    for (double& each : p) {
      const bool exploits = design == "bayes" && i >= 40;  // around what was found to be good
      each = exploits ? std::clamp(0.4 + near(random), 0.0, 1.0) : uniform(random);
    }
    if (design == "grid") {
      const double levels[] = {0, 1.0 / 3, 2.0 / 3, 1};
      for (int j = 0, rest = i / 2; j < 3; ++j, rest /= 4)
        p[j] = levels[rest % 4];
      k = i % 2;
    }
    outcomes.push_back({{jobspec::Value(p[0]), jobspec::Value(p[1]), jobspec::Value(p[2]),
                         jobspec::Value(k == 0 ? "p" : "q")},
                        f(p[0], p[1], p[2], k)});
  }
  return outcomes;
}

/// What each parameter does alone, in all combinations of the values that are there: the truth.
std::vector<double> true_shares(const std::vector<Outcome>& outcomes, const Function& f) {
  std::mt19937 random(99);
  std::vector<std::array<double, 4>> values(outcomes.size());
  for (std::size_t row = 0; row < outcomes.size(); ++row)
    for (std::size_t p = 0; p < 4; ++p) {
      const jobspec::Value& v = outcomes[row].parameters[p];
      values[row][p] = v.is_number() ? v.as_double() : v.as_string() == "q" ? 1.0 : 0.0;
    }
  // Every value as often as it is there: what is additive has no error.
  std::vector<std::array<std::size_t, 4>> rows(32 * outcomes.size());
  for (std::size_t p = 0; p < 4; ++p) {
    std::vector<std::size_t> column;
    for (std::size_t i = 0; i < rows.size(); ++i)
      column.push_back(i % outcomes.size());
    std::shuffle(column.begin(), column.end(), random);
    for (std::size_t i = 0; i < rows.size(); ++i)
      rows[i][p] = column[i];
  }
  const auto n = static_cast<double>(rows.size());
  const auto at = [&](const std::array<std::size_t, 4>& row) {
    return f(values[row[0]][0], values[row[1]][1], values[row[2]][2],
             static_cast<int>(values[row[3]][3]));
  };
  std::vector<double> shares;
  double all_mean = 0, all_square = 0;
  for (const auto& row : rows) {
    all_mean += at(row) / n;
    all_square += at(row) * at(row) / n;
  }
  for (std::size_t p = 0; p < 4; ++p) {
    double mean = 0, square = 0;
    for (std::size_t fixed = 0; fixed < outcomes.size(); ++fixed) {
      double inner = 0;
      for (auto row : rows) {
        row[p] = fixed;
        inner += at(row) / n;
      }
      mean += inner / static_cast<double>(outcomes.size());
      square += inner * inner / static_cast<double>(outcomes.size());
    }
    shares.push_back((square - mean * mean) / (all_square - all_mean * all_mean));
  }
  return shares;
}

TEST(Importance, OfKnownFunctionsInEveryDesign) {
  const std::vector<std::pair<const char*, Function>> functions{
      {"sum", [](double x, double y, double, int k) { return 4 * x + 2 * y + 0.6 * k; }},
      {"product",
       [](double x, double y, double, int k) { return (x - 0.5) * (y - 0.5) + 0.1 * k; }}};
  const std::vector<std::string> names{"x", "y", "z", "k"};
  for (const char* design : {"random", "bayes", "grid"})
    for (const auto& [name, f] : functions) {
      const auto outcomes = designed(design, 1, f);
      const Importance found = importance_of(names, outcomes);
      const auto truth = true_shares(outcomes, f);
      ASSERT_EQ(found.parameters.size(), 4u);
      for (const ParameterShare& share : found.parameters) {
        const auto p = std::find(names.begin(), names.end(), share.name) - names.begin();
        EXPECT_NEAR(share.main, truth[static_cast<std::size_t>(p)], 0.03)
            << design << ' ' << name << ' ' << share.name;
      }
    }
}

TEST(Importance, OfNoiseIsNotToBeTrusted) {
  std::mt19937 random(3);
  std::normal_distribution<double> noise;
  const Importance found =
      importance_of({"a", "b", "c"}, grid([&](double, double, int) { return noise(random); }));
  EXPECT_LT(found.explained, 0.3);
  EXPECT_TRUE(importance_of({"a"}, {{{jobspec::Value(1)}, 2}, {{jobspec::Value(2)}, 2}})
                  .parameters.empty());
}

/// A sweep of trials that reach val/error 0.1 at given steps, and their speed.
/// Why a study is refused; empty where it is not.
template <class Study>
std::string refusal(const Study& study) {
  try {
    study();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

class StudyTest : public StoreTest {
 protected:
  StudyTest() { sweep_ = add_sweep(); }

  std::int64_t add_sweep(std::optional<double> target = 0.1) {
    SweepRow row = sample_sweep();
    row.target = target;
    row.targets.clear();
    if (target) row.targets = {*target};
    trials_ = 0;
    return store.insert_sweep(row);
  }

  struct Setting {
    double batch = 64;
    std::string optimizer = "sgd";
    std::int64_t configuration = 1;
    std::int64_t ranks = 1;
    double samples_per_s = 1000;
    double seconds = 100;  ///< to the target
    std::string growth = "none";
    TrialPhase state = TrialPhase::finished;
    double noise_scale = 90;
    std::int64_t noise_steps = 100;  ///< that measured it
    std::int64_t model_parameters = 0;
    double sum_ms = 0;  ///< of gradients
    std::string mode = "sync";
  };
  /// `steps` 0: the target is never reached.
  void add(const Setting& setting, std::int64_t steps) {
    ++trials_;
    TrialRow trial = sample_trial(sweep_, trials_, static_cast<std::uint64_t>(trials_));
    trial.configuration = setting.configuration;
    trial.state = setting.state;
    const std::string batch = std::to_string(static_cast<int>(setting.batch));
    trial.parameters = R"({"batch.global":)" + batch + R"(,"optimizer.name":")" +
                       setting.optimizer + R"(","resources.nodes":)" +
                       std::to_string(setting.ranks) + R"(,"batch_growth.by":")" + setting.growth +
                       "\"}";
    store.insert_trials({trial});
    AttemptRow row = sample_attempt(sweep_, trials_);
    row.nodes = row.ranks = setting.ranks;
    row.started = 1000;
    row.ended = 1000 + setting.seconds + 50;
    row.state = AttemptState::finished;
    store.insert_attempt(row);
    store.put_start(
        row.id, R"({"ranks":)" + std::to_string(setting.ranks) +
                    (setting.model_parameters > 0
                         ? R"(,"parameters":)" + std::to_string(setting.model_parameters)
                         : "") +
                    R"(,"flops_per_sample":2e9,"config":{)" + R"("sync":{"mode":")" + setting.mode +
                    R"("},"noise":{"beta":0.9,"every":1},"batch":{"global":)" + batch + "}}}");
    std::vector<Point> points{{"perf/samples_per_s", 1, setting.samples_per_s, 1001},
                              {"noise/b_simple", 1, 1, 1001}};
    if (setting.sum_ms > 0) points.push_back({"perf/comm_ms", 1, setting.sum_ms, 1001});
    for (const std::int64_t step : {60, 100})
      points.push_back(
          {"noise/b_simple", setting.noise_steps * step / 100, setting.noise_scale, 1001});
    points.push_back(
        {"val/error", steps > 0 ? steps : 9999, steps > 0 ? 0.09 : 0.5, 1000 + setting.seconds});
    store.add_points(row.id, 1, 1, points);
  }

  std::int64_t sweep_ = 0, trials_ = 0;
};

TEST_F(StudyTest, EachBatchAtItsBest) {
  // Two optimizers at each batch, two seeds of each; the law has 100 and 400.
  std::int64_t configuration = 0;
  for (const double batch : {50.0, 400.0, 3200.0}) {
    const auto steps = static_cast<std::int64_t>(100 * (1 + 400 / batch));
    for (const char* optimizer : {"sgd", "adam"}) {
      ++configuration;
      const bool best = optimizer == std::string("adam");
      for (int seed = 0; seed < 2; ++seed)
        add({batch, optimizer, configuration}, best ? steps : 2 * steps);
    }
  }
  const BatchStudy study = study_batches(store, {sweep_});
  ASSERT_EQ(study.points.size(), 3u);
  EXPECT_EQ(study.points[0].batch, 50);
  EXPECT_EQ(study.points[0].steps.median, 900);
  EXPECT_EQ(study.points[0].samples, 45'000);
  EXPECT_EQ(study.points[0].configurations, 2);
  EXPECT_EQ(study.points[0].chosen.at("optimizer.name"), "adam");
  EXPECT_THAT(study.points[0].trials, ElementsAre("1.3", "1.4"));
  EXPECT_EQ(study.points[0].regime, "perfect scaling");
  EXPECT_EQ(study.points[2].regime, "maximal data parallelism");
  ASSERT_TRUE(study.fitted);
  EXPECT_NEAR(study.b_crit, 400, 4);
  EXPECT_NEAR(study.s_min, 100, 1);
  EXPECT_NEAR(study.noise_scale, 90, 1e-9);
  EXPECT_THAT(study.notes,
              ElementsAre(HasSubstr("chosen by the same seeds"), "val/error: smaller is better"));
  EXPECT_TRUE(study.groups.empty());
}

TEST_F(StudyTest, EachOptimizerHasItsCriticalBatch) {
  // The laws: 100 steps and 400, 50 steps and 1600.
  std::int64_t configuration = 0;
  for (const double batch : {50.0, 400.0, 3200.0}) {
    add({batch, "sgd", ++configuration}, static_cast<std::int64_t>(100 * (1 + 400 / batch)));
    add({batch, "adam", ++configuration}, static_cast<std::int64_t>(50 * (1 + 1600 / batch)));
  }
  const BatchStudy study = study_batches(store, {sweep_}, {.target = {}, .by = {"name"}});
  EXPECT_THAT(study.by, ElementsAre("optimizer.name"));
  ASSERT_EQ(study.groups.size(), 2u);
  EXPECT_EQ(study.groups[0].group.at("optimizer.name"), "sgd");
  EXPECT_NEAR(study.groups[0].b_crit, 400, 4);
  EXPECT_NEAR(study.groups[0].s_min, 100, 1);
  EXPECT_EQ(study.groups[1].group.at("optimizer.name"), "adam");
  EXPECT_NEAR(study.groups[1].b_crit, 1600, 16);
  EXPECT_EQ(study.groups[1].points[0].configurations, 1);
  EXPECT_THAT(study.groups[1].points[0].trials, ElementsAre("1.2"));
  EXPECT_TRUE(study.groups[1].notes.empty()) << "nothing was chosen";

  StudyRequest request;
  request.sweeps = {sweep_};
  request.set(find_study("batch")->options[1], "name");
  const DataTable table = find_study("batch")->run(store, request);
  ASSERT_EQ(table.rows.size(), 6u);
  EXPECT_EQ(table.columns[0].key, "optimizer.name");
  EXPECT_EQ(std::get<std::string>(table.rows[0][0]), "sgd");
  EXPECT_EQ(std::get<std::string>(table.rows[5][0]), "adam");
  ASSERT_EQ(table.further.size(), 1u);
  const DataTable& fits = table.further[0];
  ASSERT_EQ(fits.rows.size(), 2u);
  EXPECT_EQ(fits.columns[1].key, "b_crit");
  const auto fit = std::get<DataInterval>(fits.rows[1][1]);
  EXPECT_EQ(fit.value, study.groups[1].b_crit);
  EXPECT_EQ(fit.low, study.groups[1].b_crit_low);
  EXPECT_EQ(fit.high, study.groups[1].b_crit_high);
  EXPECT_THROW(study_batches(store, {sweep_}, {.target = {}, .by = {"optimizer.nme"}}),
               std::invalid_argument);
}

TEST_F(StudyTest, TheNoiseScaleIsThatOfTheSmallestBatch) {
  const auto measured = [&](double batch, std::int64_t configuration, double scale, bool reached) {
    add({.batch = batch, .configuration = configuration, .noise_scale = scale}, reached ? 100 : 0);
  };
  measured(50, 1, 500, true);
  measured(50, 2, 700, true);
  measured(50, 3, 5, false);
  measured(400, 4, 60, true);
  const BatchStudy study = study_batches(store, {sweep_});
  EXPECT_NEAR(study.points[0].noise_scale, 600, 1e-9) << "of those that got to the target";
  EXPECT_NEAR(study.points[1].noise_scale, 60, 1e-9);
  EXPECT_NEAR(study.noise_scale, 600, 1e-9);
}

TEST_F(StudyTest, ANoiseScaleThatHasNotSettledIsNone) {
  add({.batch = 50, .configuration = 1, .noise_steps = 20}, 100);
  BatchStudy study = study_batches(store, {sweep_});
  EXPECT_TRUE(std::isnan(study.noise_scale));
  EXPECT_THAT(study.notes, testing::Contains(HasSubstr("has not settled")));
  add({.batch = 400, .configuration = 2, .noise_scale = 70}, 100);
  study = study_batches(store, {sweep_});
  EXPECT_NEAR(study.noise_scale, 70, 1e-9);
}

TEST_F(StudyTest, ThreeBatchesOnACurveByChanceLeaveAnInterval) {
  std::int64_t configuration = 0;
  for (const double batch : {50.0, 400.0, 3200.0}) {
    const auto steps = static_cast<std::int64_t>(100 * (1 + 400 / batch));
    ++configuration;
    for (const int more : {-5, 5})
      add({.batch = batch, .configuration = configuration}, steps + more);
  }
  const BatchStudy study = study_batches(store, {sweep_});
  ASSERT_TRUE(study.fitted);
  EXPECT_LT(study.residual, 0.01);
  EXPECT_LT(study.b_crit_low, 0.95 * study.b_crit);
  EXPECT_GT(study.b_crit_high, 1.05 * study.b_crit);
}

TEST_F(StudyTest, BatchesThatGrowAreNoneOfThem) {
  add({.batch = 50, .configuration = 1}, 900);
  add({.batch = 50, .configuration = 2, .growth = "epochs"}, 90);
  const BatchStudy study = study_batches(store, {sweep_});
  ASSERT_EQ(study.points.size(), 1u);
  EXPECT_EQ(study.points[0].steps.median, 900);
  EXPECT_THAT(study.notes,
              testing::Contains(HasSubstr("trials left out, as their batch grows: 1")));
}

TEST_F(StudyTest, BatchesThatMissAreSaid) {
  add({50, "sgd", 1}, 900);
  add({400, "sgd", 2}, 200);
  add({3200, "sgd", 3}, 0);
  BatchStudy study = study_batches(store, {sweep_});
  EXPECT_FALSE(study.fitted);
  EXPECT_EQ(study.points[2].reached, 0);
  EXPECT_THAT(study.notes, ElementsAre(HasSubstr("1 of 3 batches did not get to val/error 0.1"),
                                       HasSubstr("three batches"), "val/error: smaller is better"));
  // A second sweep has the missing one.
  const std::int64_t first = sweep_;
  sweep_ = add_sweep();
  add({3200, "sgd", 1}, 112);
  study = study_batches(store, {first, sweep_});
  EXPECT_TRUE(study.fitted);
  EXPECT_THAT(study.points[2].trials, ElementsAre("2.1"));
}

TEST_F(StudyTest, StepsToWhat) {
  sweep_ = add_sweep(std::nullopt);
  EXPECT_THROW(study_batches(store, {sweep_}), std::invalid_argument);
  EXPECT_THROW(study_batches(store, {99}), std::invalid_argument);
  EXPECT_NO_THROW(study_batches(store, {sweep_}, {.target = 0.2, .by = {}}));
  EXPECT_THROW(study_pareto(store, {sweep_}), std::invalid_argument);
}

TEST_F(StudyTest, ScalingBySeries) {
  add({64, "sgd", 1, 1, 1000}, 100);
  add({64, "adam", 2, 1, 500}, 100);
  add({128, "sgd", 3, 2, 1900}, 100);
  add({64, "sgd", 4, 4, 2200}, 100);
  add({32, "sgd", 6, 4, 2300}, 100);
  add({64, "adam", 5, 2, 950}, 100);
  add({256, "adam", 7, 1, 700}, 100);
  const ScalingStudy study = study_scaling(store, {sweep_});
  EXPECT_THAT(study.by, ElementsAre("optimizer.name"));
  ASSERT_EQ(study.rows.size(), 7u);
  const ScalingRow& first = study.rows[3];
  EXPECT_EQ(first.series.at("optimizer.name"), "sgd");
  EXPECT_EQ(first.kind, "");
  EXPECT_EQ(first.speedup, 1);
  EXPECT_DOUBLE_EQ(first.tflops, 2e12 / 1e12);
  EXPECT_EQ(study.rows[4].kind, "weak");
  EXPECT_DOUBLE_EQ(study.rows[4].efficiency, 0.95);
  EXPECT_EQ(study.rows[5].kind, "mixed") << "half the batch on four times the ranks";
  EXPECT_EQ(study.rows[6].kind, "strong");
  EXPECT_DOUBLE_EQ(study.rows[6].speedup, 2.2) << "next to the same batch on one rank";
  EXPECT_TRUE(study.rows[6].worth) << "one run each is too few to tell";
  EXPECT_DOUBLE_EQ(study.rows[2].speedup, 1.9) << "adam next to adam";
  EXPECT_TRUE(std::isnan(study.rows[1].speedup)) << "a larger batch on the same rank";
  EXPECT_EQ(study.rows[1].kind, "");
}

// CM-DARE (arXiv:2004.03072), steps per second of ResNet-32 with one parameter server.
TEST_F(StudyTest, ScalingStopsWhereAFitSaysSo) {
  const auto last_worth = [&](const std::vector<double>& speeds) {
    sweep_ = add_sweep();
    trials_ = 0;
    for (std::size_t i = 0; i < speeds.size(); ++i)
      add({.configuration = static_cast<std::int64_t>(i + 1),
           .ranks = static_cast<std::int64_t>(i + 1),
           .samples_per_s = speeds[i]},
          100);
    const ScalingStudy study = study_scaling(store, {sweep_});
    return std::count_if(study.rows.begin(), study.rows.end(),
                         [](const ScalingRow& row) { return row.worth; });
  };
  EXPECT_EQ(last_worth({11.36, 21.95, 33.97, 40.1, 43.9, 43.7, 46.3, 42.5}), 4) << "P100";
  EXPECT_EQ(last_worth({4.43, 8.68, 13.07, 17.98, 22.17, 26.2, 30.73, 34.95}), 8) << "K80";
  EXPECT_EQ(last_worth({100, 200, 230, 400, 500, 600}), 6) << "one slow run";
}

TEST_F(StudyTest, ScalingOfOneNumberOfRanksComparesNothing) {
  add({.batch = 64, .configuration = 1, .samples_per_s = 1000}, 100);
  add({.batch = 512, .configuration = 2, .samples_per_s = 9000}, 100);
  const ScalingStudy study = study_scaling(store, {sweep_});
  for (const ScalingRow& row : study.rows) {
    EXPECT_TRUE(std::isnan(row.speedup));
    EXPECT_EQ(row.kind, "");
  }
  EXPECT_THAT(study.notes, ElementsAre(HasSubstr("no two rows differ by their ranks alone")));
}

TEST_F(StudyTest, WhatFollowsTheRanksIsNoSeries) {
  add({64, "small-rate", 1, 1, 1000}, 100);
  add({128, "large-rate", 2, 2, 1800}, 100);
  const ScalingStudy study = study_scaling(store, {sweep_});
  EXPECT_TRUE(study.by.empty());
  EXPECT_DOUBLE_EQ(study.rows.at(1).speedup, 1.8);
  EXPECT_TRUE(study.notes.empty());
}

TEST_F(StudyTest, ImportanceInASweep) {
  std::int64_t configuration = 0;
  for (const double batch : {32.0, 64.0, 128.0, 256.0, 512.0})
    for (const char* optimizer : {"sgd", "adam"}) {
      ++configuration;
      for (int seed = 0; seed < 2; ++seed) {
        add({batch, optimizer, configuration}, 0);
        // Better than the 0.5 that add() reports: the optimizer makes the larger difference.
        const bool adam = optimizer == std::string("adam");
        store.add_points({sweep_, trials_, 1}, 2, 2,
                         {{"val/error", 10'000, (adam ? 0.1 : 0.4) + batch / 1e4, 1100}});
      }
    }
  const ImportanceStudy study = study_importance(store, sweep_, "");
  EXPECT_EQ(study.configurations, 10);
  ASSERT_EQ(study.found.parameters.size(), 2u) << "resources.nodes has one value";
  EXPECT_EQ(study.found.parameters[0].name, "optimizer.name");
  // Ranks 1 to 5 and 6 to 10: 6.25 of a variance of 8.25 is between the two.
  EXPECT_NEAR(study.found.parameters[0].main, 0.76, 0.06);
  // Among the best half there is adam alone.
  const ImportanceStudy best = study_importance(store, sweep_, "", 0.5);
  EXPECT_EQ(best.found.parameters[0].name, "batch.global");
  EXPECT_THROW(study_importance(store, 99, ""), std::invalid_argument);
  EXPECT_THROW(study_importance(store, sweep_, "no/such"), std::invalid_argument);
}

TEST_F(StudyTest, ZippedParametersCountOnce) {
  const char* optimizers[] = {"a", "b", "c", "d", "e"};
  for (int i = 0; i < 5; ++i) {
    add({32.0 * (i + 1), optimizers[i], i + 1}, 0);
    store.add_points({sweep_, trials_, 1}, 2, 2, {{"val/error", 10'000, 0.1 + 0.01 * i, 1100}});
  }
  // Five draws of a random search would be no different: the file alone tells.
  const ImportanceStudy drawn = study_importance(store, sweep_, "");
  ASSERT_EQ(drawn.found.parameters.size(), 2u);
  for (const char* zip : {"[batch.global, optimizer.name]", "[[batch.global, optimizer.name]]"}) {
    store.update_sweep_text(sweep_, std::string("method: grid\nzip: ") + zip + "\n");
    const ImportanceStudy study = study_importance(store, sweep_, "");
    ASSERT_EQ(study.found.parameters.size(), 1u);
    EXPECT_EQ(study.found.parameters[0].name, "batch.global and optimizer.name");
  }
}

TEST_F(StudyTest, ZippedValuesThatRepeatAreToldApartTogether) {
  // The batch alone has two values, the optimizer alone two, and both together four.
  for (int i = 0; i < 8; ++i) {
    add({i % 2 == 0 ? 32.0 : 64.0, i % 4 < 2 ? "a" : "b", i + 1}, 0);
    store.add_points({sweep_, trials_, 1}, 2, 2,
                     {{"val/error", 10'000, 0.1 + 0.01 * ((i % 4) == 3 ? 1 : i % 4), 1100}});
  }
  store.update_sweep_text(sweep_, "zip: [batch.global, optimizer.name]\n");
  const ImportanceStudy study = study_importance(store, sweep_, "");
  ASSERT_EQ(study.found.parameters.size(), 1u);
  EXPECT_EQ(study.found.parameters[0].values, 4);
}

TEST_F(StudyTest, MeasurementsOfStepsAndCheckpoints) {
  add({64, "sgd", 1, 2, 1000}, 100);
  store.add_points(
      {sweep_, 1, 1}, 2, 2,
      {{"perf/checkpoint_bytes", 2, 5e6, 1002}, {"perf/checkpoint_write_ms", 2, 20, 1002}});
  add({128, "sgd", 2, 1, 500}, 100);
  const Measurements steps = read_measurements(store, "step", "");
  ASSERT_EQ(steps.points.size(), 2u);
  EXPECT_EQ(steps.points[0].trial, "1.2");
  EXPECT_DOUBLE_EQ(steps.points[0].x, 2 * 128);
  EXPECT_DOUBLE_EQ(steps.points[0].y, 128.0 / 500);
  EXPECT_DOUBLE_EQ(steps.points[1].x, 2 * 64 / 2) << "two ranks share a step";
  const Measurements checkpoints = read_measurements(store, "checkpoint", "");
  ASSERT_EQ(checkpoints.points.size(), 1u);
  EXPECT_DOUBLE_EQ(checkpoints.points[0].x, 5);
  EXPECT_DOUBLE_EQ(checkpoints.points[0].y, 0.02);
  EXPECT_TRUE(read_measurements(store, "step", "cuda").points.empty());
  // 2e9 operations a sample, 64 samples a step.
  store.add_points({sweep_, 1, 1}, 3, 3, {{"train/loss", 1000, 0.5, 946'684'800}});
  store.add_points(
      {sweep_, 2, 1}, 2, 2,
      {{"train/loss", 10, 0.5, 946'684'800}, {"batch/samples", 10, 7000, 946'684'800}});
  const Measurements compute = read_measurements(store, "compute", "");
  ASSERT_EQ(compute.points.size(), 2u);
  EXPECT_EQ(compute.points[1].trial, "1.1");
  EXPECT_NEAR(compute.points[1].x, 2000, 0.003);
  EXPECT_DOUBLE_EQ(compute.points[1].y, 2e9 * 64'000 / 8.64e19);
  EXPECT_DOUBLE_EQ(compute.points[0].y, 2e9 * 7000 / 8.64e19) << "as it reports them";
  EXPECT_THROW(read_measurements(store, "lunch", ""), std::invalid_argument);
}

TEST_F(StudyTest, ParetoOfTimeAndNodes) {
  add({64, "sgd", 1, 1, 1000, 400}, 100);   // 400 s, 400 node-seconds
  add({128, "sgd", 2, 2, 1900, 250}, 100);  // 250 s, 500
  add({256, "sgd", 3, 4, 2000, 240}, 100);  // 240 s, 960
  add({512, "sgd", 4, 4, 2000, 260}, 100);  // beaten
  add({999, "sgd", 5, 4, 2000, 260}, 0);
  const ParetoStudy study = study_pareto(store, {sweep_});
  ASSERT_EQ(study.rows.size(), 4u);
  std::vector<double> frontier;
  for (const ParetoRow& row : study.rows)
    if (row.frontier) frontier.push_back(row.node_seconds);
  EXPECT_THAT(frontier, ElementsAre(960, 500, 400));
}

TEST_F(StudyTest, MoneyByTheSweepsPrices) {
  add({64, "sgd", 1, 1, 1000, 400}, 100);   // 400 s, 400 node-seconds
  add({128, "sgd", 2, 2, 1900, 250}, 100);  // 250 s, 500
  add({256, "sgd", 3, 1, 1900, 999}, 0);
  const std::int64_t cheap = sweep_ = add_sweep();
  add({64, "sgd", 1, 4, 1000, 260}, 100);  // 260 s, 1040, on a partition at a third of the price
  const std::int64_t first = cheap - 1;
  CompareOptions options;
  EXPECT_TRUE(std::isnan(compare(store, first, options).rows[0].money_to_target.median));
  options.rank_by = RankBy::money;
  EXPECT_THROW(compare(store, first, options), std::invalid_argument) << "no price is known";
  options.prices = {{first, 3.6}, {cheap, 1.2}};
  const Comparison comparison = compare(store, first, options);
  EXPECT_DOUBLE_EQ(comparison.rows[0].money_to_target.median, 0.4);
  EXPECT_DOUBLE_EQ(comparison.rows[1].money_to_target.median, 0.5);
  EXPECT_DOUBLE_EQ(comparison.rows[0].money.median, 0.45) << "50 s after the target";
  EXPECT_EQ(comparison.rows[2].money_to_target.median, infinity);

  ParetoOptions money{{}, {{first, 3.6}}, true};
  EXPECT_THROW(study_pareto(store, {first, cheap}, money), std::invalid_argument);
  money.prices[cheap] = 1.2;
  const auto frontier = [&](const ParetoOptions& wanted) {
    std::vector<double> spent;
    for (const ParetoRow& row : study_pareto(store, {first, cheap}, wanted).rows)
      if (row.frontier) spent.push_back(row.node_seconds);
    return spent;
  };
  EXPECT_THAT(frontier({}), ElementsAre(500, 400));
  EXPECT_THAT(frontier(money), ElementsAre(500, 1040)) << "0.5 and 0.35 of money; 0.4 is beaten";
}

// The examples of MLPerf's document on reference convergence points (mlcommons/policies, training
// rules): epochs of ten reference runs, and the fewest that five runs may need.
TEST(Rcp, ExamplesOfTheRules) {
  const ConvergencePoint first = convergence_point({16, 14, 16, 17, 16, 16, 15, 16, 15, 16});
  EXPECT_EQ(first.runs, 10);
  EXPECT_EQ(first.mean, 15.75);
  EXPECT_NEAR(first.sd, 0.433, 0.0005);
  EXPECT_NEAR(min_allowed(first, 5), 15.21, 0.005);
  ConvergencePoint second;
  second.runs = 10;
  second.mean = 20.75;
  second.sd = 0.661;
  EXPECT_NEAR(min_allowed(second, 5), 19.93, 0.005);
}

TEST(Rcp, LeavesOutOneThatDidNotGetThere) {
  EXPECT_EQ(convergence_point({3, infinity, 1, 2}).mean, 2.5);
  EXPECT_EQ(convergence_point({3, infinity, 1, infinity}).mean, infinity);
  EXPECT_EQ(convergence_point({5, 1, 9}).mean, 5);
  EXPECT_EQ(convergence_point({5, 1, 9}).sd, 0);
  EXPECT_TRUE(std::isnan(convergence_point({5, 1}).mean));
  EXPECT_TRUE(std::isnan(min_allowed(convergence_point({1, 2, 3}), 5)));
  EXPECT_TRUE(std::isnan(min_allowed(convergence_point({1, 2, 3, 4}), 2)));
  EXPECT_TRUE(std::isnan(min_allowed(convergence_point({1, infinity, infinity, 4}), 5)));
}

// How often groups drawn from one law are said to be too fast: leaving out the ends makes the
// deviation smaller than the law's, so more often than 5 %. The shares are NumPy's of 40,000 draws;
// four standard errors of 8000 draws are 0.013.
TEST(Rcp, HowOftenEqualGroupsAreTooFast) {
  std::mt19937_64 generator(1);
  const auto share_of_too_fast = [&](int reference_runs, int runs, double shift) {
    int found = 0;
    constexpr int draws = 8000;
    for (int draw = 0; draw < draws; ++draw) {
      std::normal_distribution<double> law(100, 5), shifted(100 - shift, 5);
      std::vector<double> reference, group;
      for (int i = 0; i < reference_runs; ++i)
        reference.push_back(law(generator));
      for (int i = 0; i < runs; ++i)
        group.push_back(shifted(generator));
      const ConvergencePoint point = convergence_point(group);
      found += point.mean < min_allowed(convergence_point(reference), point.runs) ? 1 : 0;
    }
    return static_cast<double>(found) / draws;
  };
  EXPECT_NEAR(share_of_too_fast(10, 5, 0), 0.092, 0.013);
  EXPECT_NEAR(share_of_too_fast(20, 10, 0), 0.078, 0.013);
  EXPECT_NEAR(share_of_too_fast(40, 20, 0), 0.069, 0.013);
  EXPECT_GT(share_of_too_fast(20, 10, 10), 0.99) << "two deviations less";
}

TEST_F(StudyTest, RcpOfGroups) {
  std::int64_t configuration = 0;
  const auto runs = [&](const char* optimizer, const std::vector<std::int64_t>& steps) {
    ++configuration;
    for (const std::int64_t each : steps)
      add({64, optimizer, configuration}, each);
  };
  runs("lamb", {160, 140, 160, 170, 160, 160, 150, 160, 150, 160});
  runs("sgd", {155, 155, 155, 155, 155});
  runs("quick", {120, 121, 122, 123, 124});
  runs("slow", {300, 310, 320, 0, 330});
  runs("lost", {300, 0, 0, 320, 330});
  runs("few", {150, 150});
  runs("one", {150});
  add({64, "sgd", 2, 1, 1000, 100, "none", TrialPhase::cancelled}, 0);  // tell nothing of sgd
  add({64, "sgd", 2, 1, 1000, 100, "none", TrialPhase::cancelled}, 0);
  RcpOptions options;
  options.by = {"optimizer.name"};
  options.reference = "lamb";
  const RcpStudy study = study_rcp(store, {sweep_}, options);
  EXPECT_EQ(study.unit, "samples");
  std::map<std::string, RcpRow> rows;
  for (const RcpRow& row : study.rows)
    rows[row.group] = row;
  EXPECT_EQ(study.rows.front().group, "lamb");
  EXPECT_EQ(rows["lamb"].verdict, "reference");
  EXPECT_EQ(rows["lamb"].mean, 157.5 * 64);
  EXPECT_EQ(rows["sgd"].verdict, "passes");
  EXPECT_DOUBLE_EQ(rows["sgd"].factor, 157.5 / 155);
  EXPECT_NEAR(rows["sgd"].fewest, 152.1 * 64, 0.05 * 64);
  EXPECT_EQ(rows["quick"].verdict, "too fast");
  EXPECT_TRUE(std::isnan(rows["quick"].factor));
  EXPECT_EQ(rows["slow"].verdict, "passes");
  EXPECT_EQ(rows["slow"].factor, 1);
  EXPECT_EQ(rows["slow"].mean, 320 * 64) << "the one that did not get there is the slowest";
  EXPECT_EQ(rows["slow"].reached, 4);
  EXPECT_EQ(rows["lost"].verdict, "did not converge");
  EXPECT_EQ(rows["few"].verdict, "2 runs, 3 needed");
  EXPECT_EQ(rows["one"].verdict, "1 run, 3 needed");
  EXPECT_THAT(study.notes, testing::Contains("left out, since not ended or cancelled: 2 trials"));
  options.steps = true;
  EXPECT_EQ(study_rcp(store, {sweep_}, options).rows.front().mean, 157.5);
  options.reference = "adam";
  EXPECT_THROW(study_rcp(store, {sweep_}, options), std::invalid_argument);
  options.reference.clear();
  EXPECT_EQ(study_rcp(store, {sweep_}, options).rows.size(), 7u);
  options.by = {"no.such"};
  EXPECT_THROW(study_rcp(store, {sweep_}, options), std::invalid_argument);
  EXPECT_THROW(study_rcp(store, {99}, {}), std::invalid_argument);
}

TEST_F(StudyTest, RcpOfSweeps) {
  for (const std::int64_t steps : {100, 110, 120, 130, 140})
    add({64, "sgd", 1}, steps);
  const std::int64_t first = sweep_;
  sweep_ = add_sweep();
  for (const std::int64_t steps : {100, 110, 120})
    add({128, "sgd", 1}, steps);
  RcpOptions options;
  options.by = {"sweep"};
  options.reference = std::to_string(first);
  const RcpStudy study = study_rcp(store, {first, sweep_}, options);
  ASSERT_EQ(study.rows.size(), 2u);
  EXPECT_EQ(study.rows[1].mean, 110 * 128);
  EXPECT_THAT(study.notes, testing::Contains(HasSubstr("twice as many")));
  sweep_ = add_sweep(0.2);
  EXPECT_THROW(study_rcp(store, {first, sweep_}, options), std::invalid_argument);
}

TEST_F(StudyTest, ForecastsATrialOnOtherNumbersOfNodes) {
  add({.batch = 64, .configuration = 1, .ranks = 1, .samples_per_s = 1000}, 1000);
  add({.batch = 64, .configuration = 2, .ranks = 2, .samples_per_s = 1800}, 1000);
  add({.batch = 128, .configuration = 3, .ranks = 4, .samples_per_s = 9e9}, 1000);
  ForecastOptions options{.nodes = {1, 2, 4}, .hours = 1.0, .price = 3.0};
  const Forecast forecast = forecast_trial(store, {sweep_, 2, 0}, options);
  EXPECT_EQ(forecast.trial, "1.2");
  EXPECT_EQ(forecast.until, "val/error 0.1");
  EXPECT_EQ(forecast.samples, 64'000);
  ASSERT_EQ(forecast.rows.size(), 3u);
  EXPECT_TRUE(forecast.rows[1].measured);
  EXPECT_EQ(forecast.rows[1].samples_per_s, 1800);
  EXPECT_NEAR(forecast.rows[1].efficiency, 0.9, 1e-12);
  EXPECT_FALSE(forecast.rows[2].measured) << "the other batch's speed is none of it";
  EXPECT_EQ(forecast.rows[2].samples_per_s, 3600);
  EXPECT_EQ(forecast.rows[0].seconds, 64);
  EXPECT_EQ(forecast.rows[0].expected_seconds, 64) << "nothing was lost in the record";
  EXPECT_NEAR(forecast.rows[2].node_hours, 4 * 64.0 / 3.6 / 3600, 1e-12);
  EXPECT_NEAR(forecast.rows[2].money, 3 * forecast.rows[2].node_hours, 1e-12);
  EXPECT_EQ(forecast.rows[0].value, 0.09) << "an hour is enough";
  EXPECT_NEAR(forecast.mape, 0.2 / 1.8, 1e-12);
  EXPECT_EQ(forecast.measured_nodes, 2);
  EXPECT_EQ(forecast.measured_samples_per_s, 1800);
  options.simulated = {{2, 5}, {4, 2500}};
  const Forecast simulated = forecast_trial(store, {sweep_, 2, 0}, options);
  EXPECT_EQ(simulated.rows[1].samples_per_s, 1800) << "what was measured counts";
  EXPECT_FALSE(simulated.rows[1].simulated);
  EXPECT_EQ(simulated.rows[2].samples_per_s, 2500);
  EXPECT_TRUE(simulated.rows[2].simulated);
  EXPECT_NEAR(simulated.rows[2].seconds, 64'000 / 2500.0, 1e-9);
  options.simulated.clear();
  options.hours.reset();
  options.money = 3 * 4.0;  // four node-hours: one hour of four nodes
  EXPECT_EQ(forecast_trial(store, {sweep_, 2, 0}, options).rows[2].value, 0.09);
  options.money = 3 * 4 * 1.0 / 3600;
  EXPECT_TRUE(std::isnan(forecast_trial(store, {sweep_, 2, 0}, options).rows[2].value));
  options.like.emplace();  // no sweep of this partition
  EXPECT_THAT(forecast_trial(store, {sweep_, 2, 0}, options).notes,
              testing::Contains(HasSubstr("nothing has run in this partition")));
  options.price.reset();
  EXPECT_THROW(forecast_trial(store, {sweep_, 2, 0}, options), std::invalid_argument);
  options.money.reset();
  options.hours = 1.0 / 3600;
  options.revocations = 10;
  const Forecast hard = forecast_trial(store, {sweep_, 0, 0}, options);
  EXPECT_TRUE(std::isnan(hard.rows[0].value)) << "the first validation comes later";
  EXPECT_GE(hard.rows[2].expected_seconds, hard.rows[2].seconds);
  EXPECT_THROW(forecast_trial(store, {sweep_, 9, 0}, options), std::invalid_argument);
  EXPECT_THROW(forecast_trial(store, {99, 0, 0}, options), std::invalid_argument);
}

// A ring of n moves 2 (n - 1) / n of the bytes: of 1 M floats on 2 nodes 4 MB, in 4 ms 8 Gbit/s.
TEST_F(StudyTest, PredictIsATableOfNodesOrOfFits) {
  add({.batch = 64, .configuration = 1, .ranks = 1, .samples_per_s = 1000}, 1000);
  add({.batch = 64, .configuration = 2, .ranks = 2, .samples_per_s = 1800}, 1000);
  const Study& study = *find_study("predict");
  const auto option = [&](std::string_view name) {
    return *std::find_if(study.options.begin(), study.options.end(),
                         [&](const StudyOption& each) { return each.name == name; });
  };
  StudyRequest request;
  request.trials = {{sweep_, 2, 0}};
  EXPECT_THROW(study.run(store, request), std::invalid_argument) << "on how many nodes?";
  request.set(option("nodes"), "1,2,4");
  const DataTable people = study.run(store, request);
  EXPECT_EQ(people.title, "trial 1.2 to val/error 0.1: 64000 samples, 64 at a time");
  request.for_scripts = true;
  request.set(option("simulated"), "2:5,4:2500");
  request.partition.price = 3;
  const DataTable table = study.run(store, request);
  EXPECT_EQ(table.columns.size(), people.columns.size() + 3) << "expected, money, value";
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_EQ(std::get<std::string>(table.rows[1][1]), "measured");
  EXPECT_EQ(std::get<std::string>(table.rows[2][1]), "simulated");
  EXPECT_EQ(std::get<double>(table.rows[2][2]), 2500);
  for (const auto& [name, value] :
       {std::pair{"nodes", "0"}, std::pair{"nodes", "1.5"}, std::pair{"hours", "-1"},
        std::pair{"simulated", "2:0"}, std::pair{"simulated", "2"}}) {
    StudyRequest wrong = request;
    wrong.set(option(name), value);
    EXPECT_THROW(study.run(store, wrong), std::invalid_argument) << name << '=' << value;
  }
  EXPECT_THROW(request.set(option("nodes"), "1,two"), std::invalid_argument);
  EXPECT_THROW(request.set(option("of"), "compute"), std::invalid_argument);
  EXPECT_THROW(request.set(option("of"), "step,checkpoint"), std::invalid_argument);
  EXPECT_TRUE(study.run(store, {}).rows.empty()) << "nothing was measured";

  const DataTable fits = fitted_table({"mb", "s", {1, 2, 3}, {3, 5, 7}, 1}, {2, 10}, true);
  ASSERT_EQ(fits.rows.size(), 1u) << "three sizes are enough for a line";
  EXPECT_NEAR(std::get<double>(fits.rows[0][4]), 1, 1e-9);
  EXPECT_NEAR(std::get<double>(fits.rows[0][5]), 2, 1e-9);
  EXPECT_THAT(fits.notes,
              ElementsAre(HasSubstr("1 line without"), HasSubstr("from the range 1 to 3")));
  const auto& predicted = fits.further.at(0).rows;
  EXPECT_NEAR(std::get<double>(predicted.at(0)[1]), 5, 1e-9);
  EXPECT_FALSE(std::get<bool>(predicted.at(0)[3]));
  EXPECT_TRUE(std::get<bool>(predicted.at(1)[3]));
}

TEST_F(StudyTest, ForecastsKnowTheLinkOfSumsOfAboutThatSize) {
  const std::int64_t million = 1'000'000;
  const auto link = [&](std::int64_t trial) {
    const Forecast forecast = forecast_trial(store, {sweep_, trial, 0}, {.nodes = {1, 2}});
    return std::pair(forecast.link_gbit, forecast.link_of);
  };
  add({.ranks = 1, .samples_per_s = 1000, .model_parameters = million}, 1000);
  EXPECT_EQ(link(1), std::pair(0.0, std::string())) << "nothing has run on several nodes";
  add({.ranks = 2, .samples_per_s = 1, .model_parameters = million, .sum_ms = 0}, 1000);
  EXPECT_EQ(link(1).first, 0) << "nor measured its sums";
  add({.ranks = 2, .model_parameters = 50 * million, .sum_ms = 20}, 1000);
  EXPECT_NEAR(link(1).first, 80, 1e-9) << "better than nothing";
  add({.ranks = 2, .model_parameters = million, .sum_ms = 4}, 1000);
  add({.ranks = 4, .model_parameters = million * 3 / 2, .sum_ms = 9}, 1000);
  add({.ranks = 2, .model_parameters = million, .sum_ms = 1, .mode = "async"}, 1000);
  EXPECT_NEAR(link(1).first, 8, 1e-9);
  EXPECT_EQ(link(1).second, std::to_string(sweep_) + ".4");
}

TEST_F(StudyTest, WhatWasReadIsKeptUntilTheRecordIsWritten) {
  add({.batch = 64}, 100);
  const auto reader = ReadStore::open(folder.path() / "thalweg.db");
  struct Counter {
    int uses = 0;
  };
  const auto steps = [&](int& uses) {
    const ReadStore::Snapshot snapshot(*reader);
    std::vector<double> found;
    for (int i = 0; i < 2; ++i) {  // the second is what is kept of the first
      found.clear();
      for (const TrialRecord& record :
           read_records(*reader, {sweep_, {"optimizer.name"}, {}, "val/error", false, 0.1})) {
        found.push_back(record.steps);
        EXPECT_EQ(record.group[0], jobspec::Value("sgd"));
        EXPECT_EQ(record.global_batch, 64);
      }
      uses = ++reader->kept<Counter>().uses;
    }
    return found;
  };
  int uses = 0;
  EXPECT_THAT(steps(uses), testing::ElementsAre(100));
  EXPECT_THAT(steps(uses), testing::ElementsAre(100));
  EXPECT_EQ(uses, 4);
  add({.batch = 64, .configuration = 2}, 300);
  EXPECT_THAT(steps(uses), testing::ElementsAre(100, 300));
  EXPECT_EQ(uses, 2) << "made anew";
  store.add_points({sweep_, 1, 1}, 2, 2, {{"val/error", 50, 0.01, 1050}});
  EXPECT_THAT(varied_parameters(*reader, sweep_), testing::IsEmpty());
  add({.batch = 128, .configuration = 3}, 300);
  EXPECT_THAT(varied_parameters(*reader, sweep_), testing::ElementsAre("batch.global"));
  reader->kept<Counter>().uses = 7;
  EXPECT_EQ(reader->kept<Counter>().uses, 0) << "without a snapshot nothing is kept";
}

TEST_F(StudyTest, WhatWasReadOfConfigurationsIsKeptUntilTheyChange) {
  add({.batch = 64}, 100);
  const auto reader = ReadStore::open(folder.path() / "thalweg.db");
  struct Counter {
    int uses = 0;
  };
  const auto uses = [&] { return ++reader->kept_of_configurations<Counter>(sweep_).uses; };
  EXPECT_EQ(uses(), 1);
  store.add_points({sweep_, 1, 1}, 2, 2, {{"val/error", 50, 0.01, 1050}});
  EXPECT_EQ(uses(), 2) << "points are no configurations";
  add({.batch = 64, .configuration = 2}, 300);
  EXPECT_EQ(uses(), 1) << "a trial was added";
  store.update_trial_configuration({sweep_, 2, 0}, R"({"optimizer.name":"adam"})", "{}", "other");
  EXPECT_EQ(uses(), 1);
  EXPECT_THAT(varied_parameters(*reader, sweep_), testing::Contains("optimizer.name"));
  store.update_trial_train({sweep_, 2, 0}, R"({"epochs":2})", "again");
  EXPECT_EQ(uses(), 1);
  const std::int64_t first = sweep_;
  sweep_ = add_sweep();
  add({.batch = 64}, 100);
  EXPECT_EQ(uses(), 1) << "of another sweep";
  sweep_ = first;
  EXPECT_EQ(uses(), 2);
}

TEST_F(StudyTest, ASnapshotDoesNotSeeWhatIsWrittenMeanwhile) {
  add({.batch = 64}, 100);
  const auto reader = ReadStore::open(folder.path() / "thalweg.db");
  {
    const ReadStore::Snapshot snapshot(*reader);
    EXPECT_EQ(reader->latest(sweep_, "val/error").size(), 1u);
    add({.batch = 64, .configuration = 2}, 300);
    EXPECT_EQ(reader->latest(sweep_, "val/error").size(), 1u);
  }
  EXPECT_EQ(reader->latest(sweep_, "val/error").size(), 2u);
}

TEST_F(StudyTest, CurvesOfASweepAreThoseOfItsTrials) {
  for (int i = 1; i <= 3; ++i)
    add({.configuration = i}, 100 * i);
  AttemptRow second = sample_attempt(sweep_, 2);
  second.id.attempt = 2;
  second.token += "2";
  store.insert_attempt(second);
  store.add_points(second.id, 1, 1, {{"val/error", 150, 0.3, 1300}, {"val/error", 250, 0.2, 1400}});
  std::vector<std::int64_t> trials;
  store.curves(sweep_, "val/error", [&](std::int64_t trial, const std::vector<CurvePoint>& curve) {
    trials.push_back(trial);
    const auto alone = store.curve({sweep_, trial, 0}, "val/error");
    ASSERT_EQ(curve.size(), alone.size()) << trial;
    for (std::size_t i = 0; i < curve.size(); ++i) {
      EXPECT_EQ(curve[i].step, alone[i].step);
      EXPECT_EQ(curve[i].value, alone[i].value);
      EXPECT_EQ(curve[i].time, alone[i].time);
      EXPECT_EQ(curve[i].attempt, alone[i].attempt);
    }
  });
  EXPECT_THAT(trials, testing::ElementsAre(1, 2, 3));
}

// DeepOBS counts the evaluation before training as epoch 0 and, where none is good enough, all
// evaluations (deepobs/analyzer: the first index, else their number).
TEST(Tuneability, CountsEvaluationsAsDeepObsDoes) {
  EXPECT_EQ(evaluations_to({0, 10, 20}, {0.9, 0.4, 0.1}, 0.4, false), 1);
  EXPECT_EQ(evaluations_to({0, 10, 20}, {0.9, 0.4, 0.1}, 0.05, false), 3);
  EXPECT_EQ(evaluations_to({10, 20}, {0.4, 0.1}, 0.4, false), 1) << "none was made before training";
  EXPECT_EQ(evaluations_to({10, 20}, {0.4, 0.1}, 0.05, false), 3);
  EXPECT_EQ(evaluations_to({0, 10}, {0.1, 0.8}, 0.8, true), 1);
  EXPECT_EQ(evaluations_to({}, {}, 0.8, true), 1);
}

TEST_F(StudyTest, TuneabilityIsOfTheBestSetting) {
  const auto run = [&](const char* optimizer, double batch, const std::vector<double>& values) {
    add({batch, optimizer, trials_ + 1}, 0);
    std::vector<Point> points;
    for (std::size_t i = 0; i < values.size(); ++i)
      points.push_back({"val/error", 10'000 + 10 * static_cast<std::int64_t>(i), values[i], 2000});
    store.add_points({sweep_, trials_, 1}, 2, 2, points);  // after the one of add()
  };
  run("sgd", 64, {0.2, 0.08});
  run("sgd", 64, {0.09, 0.12});  // it was better before, and its last value counts
  run("sgd", 128, {0.3, 0.3});
  run("adam", 64, {0.05, 0.05});
  run("adam", 128, {0.05, std::nan("")});
  const TuneabilityStudy study = study_tuneability(store, {sweep_}, {"name"});
  EXPECT_EQ(study.by, std::vector<std::string>{"optimizer.name"});
  EXPECT_EQ(study.over, std::vector<std::string>{"batch.global"});
  ASSERT_EQ(study.rows.size(), 2u);
  const TuneabilityRow& adam = study.rows[0];
  EXPECT_EQ(adam.group, "adam");
  EXPECT_DOUBLE_EQ(adam.best.final_mean, 0.05);
  EXPECT_EQ(adam.best.values.at("batch.global"), "64");
  EXPECT_DOUBLE_EQ(adam.best.speed, 2) << "the point of add() is the first evaluation";
  EXPECT_DOUBLE_EQ(adam.reached, 0.5) << "what has diverged does not reach it";
  EXPECT_EQ(adam.settings[1].diverged, 1);
  const TuneabilityRow& sgd = study.rows[1];
  EXPECT_DOUBLE_EQ(sgd.best.final_mean, 0.1);
  EXPECT_NEAR(sgd.best.final_sd, 0.02, 1e-12) << "of the population";
  EXPECT_EQ(sgd.best.runs, 2);
  EXPECT_DOUBLE_EQ(sgd.best.speed, (3 + 2) / 2.0);
  EXPECT_DOUBLE_EQ(sgd.reached, 0.5);
  EXPECT_EQ(
      refusal([&] { study_tuneability(store, {sweep_}, {}); }),
      "what is to be compared? sweep 1 varies batch.global, optimizer.name: --by batch.global");
  EXPECT_THROW(study_tuneability(store, {sweep_}, {"optimiser.name"}), std::invalid_argument);
  const std::int64_t first = sweep_;
  sweep_ = add_sweep(0.2);
  EXPECT_THROW(study_tuneability(store, {first, sweep_}, {"optimizer.name"}),
               std::invalid_argument);
}

TEST_F(StudyTest, ProfileOverTwoSweeps) {
  add({64, "sgd", 1, 1, 1000, 100}, 100);
  add({64, "adam", 2, 1, 1000, 200}, 100);
  const std::int64_t first = sweep_;
  sweep_ = add_sweep();
  add({64, "sgd", 1, 1, 1000, 200}, 100);
  add({64, "adam", 2, 1, 1000, 100}, 100);
  add({64, "lion", 3, 1, 1000, 300}, 100);
  ProfileOptions options;
  options.by = {"optimizer.name"};
  const ProfileStudy study = study_profiles(store, {first, sweep_}, options);
  ASSERT_EQ(study.rows.size(), 3u);
  // Each is best once and takes twice the time once: (0.5 + 2 x 1) / 3.
  EXPECT_NEAR(study.rows[0].score, 5.0 / 6, 1e-12);
  EXPECT_NEAR(study.rows[1].score, 5.0 / 6, 1e-12);
  EXPECT_EQ(study.rows[2].group, "lion");
  EXPECT_NEAR(study.rows[2].score, 1.0 / 6, 1e-12)
      << "missing in one, 3 times the best in the other";
  options.held_out = {{sweep_, first}};
  const ProfileStudy confirmed = study_profiles(store, {first, sweep_}, options);
  EXPECT_EQ(confirmed.sweeps, std::vector<std::int64_t>{first});
  ASSERT_EQ(confirmed.rows.size(), 3u);
  EXPECT_EQ(confirmed.rows[0].group, "sgd");
  EXPECT_NEAR(confirmed.rows[0].score, 1, 1e-12);
  EXPECT_NEAR(confirmed.rows[1].score, 2.0 / 3, 1e-12) << "adam, twice the best time";
  EXPECT_EQ(confirmed.rows[2].score, 0) << "lion has the variant alone";
  EXPECT_THAT(confirmed.notes,
              Contains(StartsWith(fmt::format("held out ({} of {})", sweep_, first))));
  options.held_out = {{sweep_, first}, {first, sweep_}};
  EXPECT_THROW(study_profiles(store, {first, sweep_}, options), std::invalid_argument);
  options.held_out = {{sweep_ + 1, first}};
  EXPECT_THROW(study_profiles(store, {first, sweep_}, options), std::invalid_argument);
  options.held_out.clear();
  options.by.clear();
  EXPECT_EQ(refusal([&] { study_profiles(store, {first}, options); }),
            "what is to be compared? sweep 1 varies optimizer.name: --by optimizer.name");
}

TEST_F(StudyTest, SweepsWithoutATargetAreGivenOne) {
  sweep_ = add_sweep(std::nullopt);
  add({64, "sgd", 1, 1, 1000, 200}, 100);
  add({64, "adam", 2, 1, 1000, 100}, 50);
  ProfileOptions profile;
  profile.by = {"optimizer.name"};
  EXPECT_EQ(refusal([&] { study_profiles(store, {sweep_}, profile); }),
            "sweep 2 has no target: time to which value of val/error? (--target 0.1)");
  profile.target = 0.1;
  EXPECT_EQ(study_profiles(store, {sweep_}, profile).rows.front().group, "adam");
  RcpOptions rcp;
  EXPECT_EQ(refusal([&] { study_rcp(store, {sweep_}, rcp); }),
            "sweep 2 has no target: samples to which value of val/error? (--target 0.1)");
  rcp.target = 0.1;
  EXPECT_EQ(study_rcp(store, {sweep_}, rcp).rows.front().reached, 1);
}

}  // namespace
}  // namespace thalweg::db::analysis
