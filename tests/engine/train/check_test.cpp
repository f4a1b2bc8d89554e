// --check of sweep files: what cannot run is told with its line; what can, with what it reports.
#include "engine/train/check_sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "engine/nn/graph.h"
#include "engine/train/metrics.h"
#include "jobspec/metrics.h"
#include "tests/engine/train/support.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

namespace fs = std::filesystem;

SweepCheck check_text(const std::string& text, SweepCheckOptions options = {}) {
  const test::TempDir folder;
  options.file = folder.path() / "sweep.yaml";
  options.name = "sweep.yaml";
  options.is_sweep = true;
  test::write_file(options.file, text);
  return check_sweep(options);
}

std::string joined(const SweepCheck& check) {
  std::string text;
  for (const PlacedError& error : check.errors)
    text += error.diagnostic.to_string() + "\n";
  return text;
}

constexpr const char* kTrain =
    "train: {model: {name: mlp}, data: {name: synthetic}, optimizer: {name: sgd}, steps: 4}\n";

/// One bad file for each mistake. Its lines "# expect: LINE: TEXT" say what must be told.
TEST(Check, EveryUnfitSweepIsRefusedWithItsLine) {
  int files = 0;
  for (const auto& entry :
       fs::directory_iterator(fs::path(THALWEG_SOURCE_DIR) / "tests/engine/train/unfit")) {
    SCOPED_TRACE(entry.path().filename().string());
    ++files;
    SweepCheckOptions options;
    options.file = entry.path();
    options.is_sweep = true;
    options.name = "S";
    const std::string told = joined(check_sweep(options));
    options.contents = false;
    const std::string described = joined(check_sweep(options));
    std::istringstream lines(test::read_file(entry.path()));
    int expected = 0;
    for (std::string line; std::getline(lines, line);) {
      const std::string mark = "# expect: ";
      if (line.rfind(mark, 0) != 0) continue;
      ++expected;
      const std::size_t colon = line.find(": ", mark.size());
      const std::string place = "S:" + line.substr(mark.size(), colon - mark.size()) + ": ";
      for (const std::string& text : {told, described})
        EXPECT_THAT(text, AllOf(HasSubstr(place), HasSubstr(line.substr(colon + 2))));
    }
    EXPECT_GT(expected, 0);
  }
  EXPECT_EQ(files, 38);
}

TEST(Check, SeedsAndRatesMakeNoShapes) {
  const SweepCheck check = check_text(
      std::string("method: random\nrun_cap: 500\nseeds: 20\nparameters:\n  optimizer.lr: "
                  "{distribution: log_uniform_values, min: 1.0e-4, max: 0.1}\n  batch.global: "
                  "{values: [32, 64]}\n") +
      kTrain);
  EXPECT_TRUE(check.ok()) << joined(check);
  EXPECT_EQ(check.trials, 10'000);
  ASSERT_EQ(check.shapes.size(), 2u);
  EXPECT_EQ(check.shapes[0].trials.size() + check.shapes[1].trials.size(), 10'000u);
  EXPECT_EQ(check.checked(), 2);
}

TEST(Check, TimeThatRunsOutLeavesShapesSpreadOverTheSweep) {
  SweepCheckOptions options;
  options.seconds = 0;
  const SweepCheck check = check_text(
      std::string("method: grid\nparameters:\n  log.every: {values: [1, 2, 3, 4]}\n") + kTrain,
      options);
  EXPECT_EQ(check.shapes.size(), 4u);
  EXPECT_EQ(check.checked(), 1);
  EXPECT_THAT(check.text(), HasSubstr("4 shapes, of which 1 were checked: time ran out"));
}

TEST(Check, LongValuesAreCutInMessages) {
  std::string layers;
  for (int i = 0; i < 40; ++i)
    layers += "{kind: linear, outputs: 8}, ";
  const std::string told = joined(check_text(
      "method: grid\nseeds: 2\nparameters:\n  model.layers:\n    values:\n      - [" + layers +
      "{kind: dropout, p: 0.1}, {kind: linear, outputs: auto}]\n"
      "      - [{kind: linear, outputs: auto}]\n"
      "train: {model: {name: graph}, data: {name: synthetic}, optimizer: {name: sgd}, steps: "
      "4}\n"));
  EXPECT_THAT(told, HasSubstr("the first with model.layers: ["));
  EXPECT_THAT(told, HasSubstr("…"));
  EXPECT_LT(told.size(), 400u) << told;
}

TEST(Check, OneTrialOfASweep) {
  SweepCheckOptions options;
  options.trial = 2;
  const std::string sweep =
      std::string("method: grid\nparameters:\n  batch.global: {values: [32, 64]}\n") + kTrain;
  EXPECT_THAT(check_text(sweep, options).text(),
              AllOf(HasSubstr("trial       2: mlp on synthetic"), HasSubstr("64 in 4 shards")));
  options.trial = 3;
  EXPECT_THROW(check_text(sweep, options), std::invalid_argument);
}

TEST(Check, FilesOfOtherMachinesAreNoted) {
  SweepCheckOptions options;
  options.elsewhere = true;
  const SweepCheck check = check_text(
      "train: {model: {name: mlp}, optimizer: {name: sgd}, data: {name: arrays, inputs: "
      "/no/such/mine.npy, labels: /no/such/yours.npy}}\n",
      options);
  EXPECT_TRUE(check.ok()) << joined(check);
  EXPECT_THAT(check.notes, Contains(HasSubstr("mine.npy: cannot open: No such file")));
  EXPECT_TRUE(check.metric.empty());
}

std::string default_of(const std::string& train) {
  const SweepCheck check = check_text("train: {optimizer: {name: sgd}, " + train + "}\n");
  EXPECT_TRUE(check.ok()) << joined(check);
  return check.metric + (check.maximize ? " up" : " down");
}

TEST(Check, TheDefaultMetricFitsTheLoss) {
  EXPECT_EQ(default_of("model: {name: mlp}, data: {name: synthetic}"), "val/error down");
  EXPECT_EQ(default_of("model: {name: mlp}, data: {name: quadratic-deep}, loss: {name: mse}"),
            "val/mae down");
  EXPECT_EQ(default_of("model: {name: gpt, layers: 1, heads: 2, width: 8}, data: {name: copy}"),
            "val/perplexity down");
}

TEST(Check, TheGoalFollowsFromTheMetric) {
  const auto goal = [](const std::string& metric) {
    const SweepCheck check = check_text("metric: " + metric + "\n" + kTrain);
    EXPECT_TRUE(check.ok()) << joined(check);
    return std::string(check.maximize ? "maximize" : "minimize") +
           (check.notes.empty() ? "" : ": " + check.notes.back());
  };
  EXPECT_EQ(goal("{name: val/accuracy}"), "maximize");
  EXPECT_EQ(goal("{name: val/error}"), "minimize");
  EXPECT_EQ(goal("{name: val/accuracy, goal: maximize}"), "maximize");
  EXPECT_THAT(goal("{name: val/accuracy, goal: minimize}"),
              HasSubstr("minimize: metric.goal: minimize, although larger values of val/accuracy"));
}

TEST(Check, ANameThatNoRunReportsNeedsNoData) {
  SweepCheckOptions options;
  options.elsewhere = true;
  const SweepCheck check = check_text(
      "metric: {name: wall_clock}\ntrain: {model: {name: mlp}, optimizer: {name: sgd}, data: "
      "{name: arrays, inputs: /no/x.npy, labels: /no/y.npy}}\n",
      options);
  EXPECT_THAT(joined(check), HasSubstr("sweep.yaml:1: metric.name: found \"wall_clock\""));
}

TEST(Check, ASweepOverLossesIsRankedByWhatAllReport) {
  const SweepCheck check = check_text(
      "method: grid\nparameters:\n  loss.name: {values: [mse, quadratic_deep]}\ntrain: {optimizer: "
      "{name: sgd}, model: {name: mlp}, data: {name: quadratic-deep}}\n");
  EXPECT_TRUE(check.ok()) << joined(check);
  EXPECT_EQ(check.metric, "val/loss");
  EXPECT_THAT(check.metrics, AllOf(Contains("val/loss"), Not(Contains("val/mae"))));
}

TEST(Check, MemoryIsComparedWithTheMachines) {
  const SweepCheck check = check_text(
      "resources: {ranks_per_node: 1000}\ntrain: {model: {name: mlp, hidden: [4096, 4096]}, data: "
      "{name: synthetic, samples: 4000}, optimizer: {name: adamw}, batch: {global: 1024}}\n");
  EXPECT_THAT(joined(check), AllOf(HasSubstr("sweep.yaml:1: resources: a node's 1000 ranks take "
                                             "at least"),
                                   HasSubstr("and this machine has")));
}

/// What a run writes into its journal is what was promised, nothing more and nothing less.
TEST(Metrics, AreThoseOfTheJournal) {
  for (const int ranks : {1, 2}) {
    const test::TempDir folder;
    jobspec::Trial trial = tiny_trial();
    trial.resources.ranks_per_node = ranks;
    run_to_end(trial, folder.path(), ranks);
    std::set<std::string> written;
    for (const jobspec::Value& line : lines_of(read_journal(folder.path()), "metrics"))
      for (const jobspec::Value& point : line.find("points")->as_list())
        written.insert(point.as_list()[0].as_string());
    const CheckReport report = Checker().check({trial.train, trial.resources, "trial.yaml"});
    std::set<std::string> promised;
    for (const MetricInfo& metric : report.metrics)
      promised.insert(metric.name);
    EXPECT_EQ(written, promised) << ranks << " ranks";
  }
}

TEST(Metrics, EveryMetricOfALossHasItsRow) {
  std::set<std::string> names;
  for (const MetricInfo& metric : metric_table())
    EXPECT_TRUE(names.insert(metric.name).second) << metric.name << " stands twice";
  for (const LossKind& kind : loss_table())
    for (const engine::Metric& metric : kind.metrics)
      EXPECT_TRUE(names.count(held_out_metric(metric::validation, metric.name)))
          << kind.name << " reports " << metric.name;
}

TEST(Metrics, AreBetterAsTheirNamesSay) {
  for (const MetricInfo& metric : metric_table())
    EXPECT_EQ(jobspec::goal_by_name(metric.name) == jobspec::Goal::maximize,
              metric.larger_is_better)
        << metric.name;
}

TEST(Metrics, DocumentsNameThemAll) {
  const fs::path root = THALWEG_SOURCE_DIR;
  std::string page = test::read_file(root / "packaging/man/thalweg-sweep.5");
  std::erase(page, '\\');
  const std::string reference = test::read_file(root / "jobspec/sweep-file.md");
  for (const MetricInfo& metric : metric_table()) {
    EXPECT_THAT(page, HasSubstr(metric.name));
    EXPECT_THAT(reference, HasSubstr("`" + metric.name + "`"));
  }
}

}  // namespace
}  // namespace thalweg::engine
