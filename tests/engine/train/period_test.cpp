// When validation and checkpoints are due: units, fractions, rank 0's clock; and when a run has
// trained long enough.
#include "engine/train/period.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <thread>

#include "engine/train/options.h"
#include "jobspec/complete.h"
#include "tests/engine/train/support.h"
#include "tests/support/memory_transport.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

using jobspec::List;
using jobspec::Map;
using jobspec::Trial;
using jobspec::Value;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr RunLength kLength{30, 10, 24};  // 30 steps, 10 an epoch, batches of 24

Period period(Every::Unit unit, double count) {
  return period_of({unit, count, "every_x"}, "eval", kLength);
}

std::vector<std::int64_t> due_steps(const Period& period) {
  std::vector<std::int64_t> steps;
  for (std::int64_t step = 0; step <= kLength.total_steps; ++step)
    if (period.due(step)) steps.push_back(step);
  return steps;
}

TEST(Period, CountsStepsEpochsAndSamples) {
  using enum Every::Unit;
  EXPECT_THAT(due_steps(period(steps, 12)), ElementsAre(12, 24));
  EXPECT_THAT(due_steps(period(epochs, 1)), ElementsAre(10, 20, 30));
  EXPECT_THAT(due_steps(period(samples, 240)), ElementsAre(10, 20, 30));
  EXPECT_THAT(due_steps(period(samples, 250)), ElementsAre(11, 21));  // the first step after each
  EXPECT_TRUE(period(steps, 0).never());
  EXPECT_THAT(due_steps(period(steps, 0)), ElementsAre());
}

TEST(Period, FractionsMeetTheEndOfEpochs) {
  using enum Every::Unit;
  EXPECT_THAT(due_steps(period(epochs, 0.5)), ElementsAre(5, 10, 15, 20, 25, 30));
  EXPECT_THAT(due_steps(period(epochs, 0.25)),
              ElementsAre(3, 5, 8, 10, 13, 15, 18, 20, 23, 25, 28, 30));
  for (const double share : {1.0 / 3, 1.0 / 7, 0.1, 0.7})
    for (const int epochs : {1, 3, 10}) {
      const Period p = period_of({Every::Unit::epochs, share, "x"}, "eval", {1000, 100, 24});
      std::int64_t times = 0;
      for (std::int64_t step = 1; step <= 100 * epochs; ++step)
        times += p.due(step) ? 1 : 0;
      EXPECT_EQ(times, std::floor(epochs / share + 1e-9)) << share << " " << epochs;
    }
}

TEST(Period, AShareOfAStepIsEveryStep) {
  EXPECT_EQ(due_steps(period(Every::Unit::samples, 1)).size(), 30u);
}

TEST(Period, RefusesTwoUnitsAndTooManySteps) {
  Trial trial = tiny_trial();
  trial.train.set("eval", Map{{"every_steps", 5}, {"every_seconds", 1.5}});
  const auto settings = [&] {
    return read_settings(jobspec::complete_train(trial.train, train_schema(), "t.yaml"));
  };
  EXPECT_THAT(settings, testing::ThrowsMessage<std::invalid_argument>(
                            HasSubstr("eval: both every_steps and every_seconds are set")));
  EXPECT_THAT([] { period(Every::Unit::epochs, 1e12); },
              testing::ThrowsMessage<std::invalid_argument>(
                  HasSubstr("eval.every_x: 1e+12 is more than can be counted")));
  trial.train.set("eval", Map{{"every_steps", 0}});
  EXPECT_THROW(settings(), jobspec::InputError);
}

/// The steps at which ranks find an event due, each with its own clock of so many seconds a step.
std::vector<std::vector<std::int64_t>> by_clock(const std::vector<double>& seconds_a_step,
                                                double every, int* looks) {
  const int ranks = static_cast<int>(seconds_a_step.size());
  auto transports = comm::memory_transports(ranks);
  std::vector<std::vector<std::int64_t>> due(seconds_a_step.size());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, r = static_cast<std::size_t>(rank)] {
      comm::Group group(std::move(transports[r]), {});
      double clock = 100 * static_cast<double>(r);
      Due event({0, every}, 0, [&clock] { return clock; });
      for (std::int64_t step = 1; step <= 1000; ++step) {
        clock += seconds_a_step[r];
        if (!event.possible(step)) continue;
        if (r == 0) ++*looks;
        if (event.decide(step, group)) due[r].push_back(step);
      }
    });
  for (std::thread& thread : threads)
    thread.join();
  return due;
}

TEST(Due, RankZerosClockCountsForAllAndIsLookedAtSeldom) {
  int looks = 0;
  const auto due = by_clock({0.25, 3, 0.001}, 50, &looks);
  EXPECT_THAT(due[0], ElementsAre(200, 400, 600, 800, 1000));
  EXPECT_EQ(due[1], due[0]);
  EXPECT_EQ(due[2], due[0]);
  EXPECT_LT(looks, 60);  // of 1000 steps
}

TEST(Due, AStepLongerThanThePeriodIsDueAtOnce) {
  int looks = 0;
  EXPECT_EQ(by_clock({7}, 5, &looks)[0].size(), 1000u);
}

std::vector<std::string> of_metric(const std::vector<std::string>& points,
                                   const std::string& name) {
  std::vector<std::string> found;
  for (const std::string& point : points)
    if (point.starts_with(name + " ")) found.push_back(point.substr(name.size() + 1));
  return found;
}

std::vector<std::int64_t> steps_of(const std::vector<std::string>& points,
                                   const std::string& name) {
  std::vector<std::int64_t> steps;
  for (const std::string& point : of_metric(points, name))
    steps.push_back(std::stoll(point));
  return steps;
}

TEST(Validation, ComesWhereItIsAskedForAndMovesNothing) {
  const test::TempDir each, often, start;
  Trial trial = tiny_trial();  // 60 steps
  run_to_end(trial, each.path(), 1);
  trial.train.set("eval", Map{{"every_steps", 7}});
  run_to_end(trial, often.path(), 2);
  EXPECT_THAT(steps_of(curve({often.path()}), "val/loss"),
              ElementsAre(7, 14, 21, 28, 35, 42, 49, 56, 60));
  EXPECT_EQ(of_metric(curve({often.path()}), "train/loss"),
            of_metric(curve({each.path()}), "train/loss"));
  trial.train.set("eval", Map{{"every_epochs", 1.5}, {"at_start", true}});
  run_to_end(trial, start.path(), 3);
  const auto points = curve({start.path()});
  EXPECT_THAT(steps_of(points, "val/loss"), ElementsAre(0, 30, 60));
  EXPECT_EQ(of_metric(points, "train/loss"), of_metric(curve({each.path()}), "train/loss"));
  EXPECT_EQ(of_metric(points, "val/loss").back(),
            of_metric(curve({each.path()}), "val/loss").back());
}

TEST(Checkpoints, ComeWhereTheyAreAskedFor) {
  const test::TempDir folder;
  Trial trial = tiny_trial();
  trial.train.set("checkpoint", Map{{"every_samples", 24 * 25}, {"keep", 10}});
  run_to_end(trial, folder.path(), 2);
  std::vector<std::int64_t> steps;
  for (const Value& line : lines_of(read_journal(folder.path()), "checkpoint")) {
    steps.push_back(line.find("step")->as_int());
    const auto file = folder.path() / line.find("file")->as_string();
    EXPECT_EQ(line.find("bytes")->as_int(),
              static_cast<std::int64_t>(std::filesystem::file_size(file)));
    EXPECT_GT(line.find("seconds")->as_double(), 0);
  }
  EXPECT_THAT(steps, ElementsAre(25, 50, 60));
}

TEST(Seconds, GiveAValidationAndACheckpointNowAndThen) {
  const test::TempDir folder, plain;
  Trial trial = tiny_trial();
  run_to_end(trial, plain.path(), 1);
  trial.train.set("eval", Map{{"every_seconds", 1e-6}});
  trial.train.set("checkpoint", Map{{"every_seconds", 1e9}});
  run_to_end(trial, folder.path(), 2);
  EXPECT_GT(steps_of(curve({folder.path()}), "val/loss").size(), 20u);
  EXPECT_EQ(lines_of(read_journal(folder.path()), "checkpoint").size(), 1u);  // the last step's
  EXPECT_EQ(of_metric(curve({folder.path()}), "train/loss"),
            of_metric(curve({plain.path()}), "train/loss"));
}

/// So often do nodes fail here that the first checkpoint is due at once; then it is known what one
/// takes.
TEST(Seconds, AutoFollowsFailuresAndWhatCheckpointsTake) {
  const test::TempDir folder, seldom, plain;
  Trial trial = tiny_trial();
  run_to_end(trial, plain.path(), 1);
  trial.train.set("checkpoint", Map{{"every_seconds", "auto"}});
  run_to_end(trial, seldom.path(), 2);
  EXPECT_EQ(lines_of(read_journal(seldom.path()), "checkpoint").size(), 1u) << "the last step's";
  trial.node_failure_s = 1e-9;
  run_to_end(trial, folder.path(), 2);
  const auto journal = read_journal(folder.path());
  const auto written = lines_of(journal, "checkpoint");
  ASSERT_GE(written.size(), 2u);
  EXPECT_EQ(written.front().find("step")->as_int(), 1);
  int told = 0;
  for (const Value& line : lines_of(journal, "note"))
    told += line.find("text")->as_string().starts_with("checkpoint.every_seconds: auto is 1 s: ");
  EXPECT_EQ(told, 1);
  EXPECT_EQ(of_metric(curve({folder.path()}), "train/loss"),
            of_metric(curve({plain.path()}), "train/loss"));
  trial.train.set("eval", Map{{"every_seconds", "auto"}});
  EXPECT_THROW(jobspec::complete_train(trial.train, train_schema(), "t.yaml"), jobspec::InputError);
}

/// Each attempt adds up what it spent beside training.
TEST(Spent, IsToldWithEachValidation) {
  const test::TempDir folder;
  Trial trial = tiny_trial();
  trial.train.set("checkpoint", Map{{"every", 10}});
  run_to_end(trial, folder.path(), 1);
  std::map<std::string, std::vector<double>> spent;
  for (const Value& line : lines_of(read_journal(folder.path()), "metrics"))
    for (const Value& point : line.find("points")->as_list())
      spent[point.as_list()[0].as_string()].push_back(point.as_list()[2].as_double());
  for (const char* name :
       {"perf/startup_s", "perf/kernels_s", "perf/validation_s", "perf/checkpoint_s"}) {
    ASSERT_EQ(spent[name].size(), 3u) << name;
    EXPECT_LE(spent[name][0], spent[name][2]) << name;
  }
  EXPECT_GT(spent["perf/startup_s"][0], 0);
  EXPECT_LT(spent["perf/validation_s"][0], spent["perf/validation_s"][2]);
  EXPECT_LT(spent["perf/checkpoint_s"][0], spent["perf/checkpoint_s"][2]);
}

StopRule rule(const Map& options, const jobspec::Metric& metric) {
  Trial trial = tiny_trial();
  trial.train.set("stop", options);
  const Value complete = jobspec::complete_train(trial.train, train_schema(), "t.yaml");
  return {*complete.find("stop"), metric};
}

TEST(StopRule, WaitsForTheHardestTarget) {
  StopRule stop = rule({{"at", "target"}}, {"val/error", jobspec::Goal::minimize, {0.1, 0.3, 0.2}});
  stop.observe(5, "val/loss", 0.01);  // another metric
  for (const double error : {0.5, 0.25, 0.15}) {
    stop.observe(10, "val/error", error);
    EXPECT_EQ(stop.reason(), "");
  }
  for (const double value : {std::nan(""), -std::numeric_limits<double>::infinity()}) {
    stop.observe(20, "val/error", value);
    EXPECT_EQ(stop.reason(), "");
  }
  stop.observe(30, "val/error", 0.1);
  EXPECT_EQ(stop.reason(), "val/error 0.1 reached the target 0.1 at step 30");
  StopRule rising = rule({{"at", "target"}}, {"val/iou", jobspec::Goal::maximize, {0.6, 0.8}});
  rising.observe(10, "val/iou", 0.7);
  EXPECT_EQ(rising.reason(), "");
  rising.observe(20, "val/iou", 0.81);
  EXPECT_THAT(rising.reason(), HasSubstr("reached the target 0.8"));
}

TEST(StopRule, LosesPatienceAndRemembersIt) {
  const Map options{{"patience", 2}, {"min_delta", 0.05}};
  StopRule stop = rule(options, {"val/loss"});
  for (const double loss : {1.0, 0.9, 0.88})
    stop.observe(1, "val/loss", loss);
  EXPECT_EQ(stop.reason(), "");
  StopRule again = rule(options, {"val/loss"});
  again.restore(stop.state());
  stop.observe(40, "val/loss", 0.86);  // not better by 0.05 for the second time
  EXPECT_EQ(stop.reason(), "val/loss has not become better than 0.9 in 2 validations at step 40");
  again.observe(40, "val/loss", 0.86);
  EXPECT_EQ(again.reason(), stop.reason());
  StopRule over = rule(options, {"val/loss"});
  over.restore(stop.state());
  EXPECT_EQ(over.reason(), stop.reason());
  again.observe(50, "val/loss", 0.8);
  EXPECT_EQ(again.reason(), "");
  EXPECT_THROW(over.restore({1.0, 2.0}), std::invalid_argument);
}

TEST(StopRule, ATargetMustBeThere) {
  EXPECT_THAT(
      [] {
        rule({{"at", "target"}}, {"val/error"});
      },
      testing::ThrowsMessage<std::invalid_argument>(
          HasSubstr("stop.at: target needs a target; write metric: {name: val/error, "
                    "target: 0.1}")));
}

TEST(EarlyStopping, EndsARunAtTheSameStepAlsoWhenItWasInterrupted) {
  const test::TempDir free, whole, first, second;
  Trial trial = tiny_trial();
  trial.train.set("eval", Map{{"every_steps", 4}});
  trial.train.set("data.test_samples", 48);
  run_to_end(trial, free.path(), 1);
  const auto losses = of_metric(curve({free.path()}), "val/loss");
  ASSERT_GT(losses.size(), 6u);
  const auto number = [&](std::size_t i) {
    return std::stod(losses[i].substr(losses[i].find(' ')));
  };
  trial.metric = {"val/loss", jobspec::Goal::minimize, {number(5)}};
  std::size_t stop_at = 0;  // the first as good as the sixth
  while (number(stop_at) > number(5))
    ++stop_at;
  ASSERT_GT(stop_at, 2u);  // otherwise the interruption below tests nothing
  const auto step = static_cast<std::int64_t>(4 * (stop_at + 1));

  trial.train.set("stop", Map{{"at", "target"}});
  trial.train.set("checkpoint", Map{{"every", 6}, {"keep", 100}});
  run_to_end(trial, whole.path(), 2);
  const auto points = curve({whole.path()});
  EXPECT_EQ(steps_of(points, "val/loss").back(), step);
  EXPECT_THAT(steps_of(points, "test/loss"), ElementsAre(step));
  const auto end = lines_of(read_journal(whole.path()), "end");
  ASSERT_EQ(end.size(), 1u);
  EXPECT_EQ(end[0].find("status")->as_string(), "finished");
  EXPECT_EQ(end[0].find("step")->as_int(), step);
  EXPECT_THAT(end[0].find("reason")->as_string(), HasSubstr("val/loss"));
  EXPECT_EQ(lines_of(read_journal(whole.path()), "checkpoint").back().find("step")->as_int(), step);

  // A later start finds that nothing is left to do.
  run_to_end(trial, whole.path(), 3);
  EXPECT_EQ(curve({whole.path()}), points);

  std::filesystem::create_directories(first.path() / "checkpoints");
  std::filesystem::copy_file(whole.path() / "checkpoints/step-000000000006.ckpt",
                             first.path() / "checkpoints/step-000000000006.ckpt");
  trial.resume = {first.path() / "checkpoints"};
  run_to_end(trial, second.path(), 3);
  EXPECT_EQ(steps_of(curve({second.path()}), "val/loss").back(), step);
}

TEST(EarlyStopping, LooksAtValidationOnly) {
  const test::TempDir folder;
  Trial trial = tiny_trial();
  trial.metric.name = "train/loss";
  trial.train.set("stop", Map{{"patience", 3}});
  const StopFlag stop;
  const auto ends = run_ranks(trial, folder.path(), 1, stop);
  ASSERT_TRUE(ends[0].threw);
  EXPECT_THAT(ends[0].failure.reason, HasSubstr("stop: validation does not report train/loss"));
}

}  // namespace
}  // namespace thalweg::engine
