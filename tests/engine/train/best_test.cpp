// checkpoint.best: the checkpoint of the best validation stays beside the newest ones.
#include "engine/train/best.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>

#include "engine/train/checkpoint.h"
#include "engine/train/restored.h"
#include "tests/engine/train/support.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

namespace fs = std::filesystem;
using jobspec::Goal;
using jobspec::Map;
using jobspec::Metric;
using jobspec::Trial;
using jobspec::Value;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Best, IsTheFirstOfEqualValuesAndNeverNan) {
  Best best(Metric{"val/accuracy", Goal::maximize, {}});
  best.observe(1, "val/accuracy", std::numeric_limits<double>::quiet_NaN());
  EXPECT_FALSE(best.step());
  best.observe(1, "val/accuracy", std::numeric_limits<double>::infinity());
  EXPECT_FALSE(best.step()) << "nor an infinity";
  best.observe(2, "val/accuracy", 0.5);
  best.observe(3, "val/loss", 9);
  best.observe(4, "val/accuracy", 0.5);
  EXPECT_EQ(best.step(), 2);
  best.observe(5, "val/accuracy", 0.75);
  EXPECT_TRUE(best.is(5));
  Best again(Metric{"val/accuracy", Goal::maximize, {}});
  again.restore(best.state());
  EXPECT_EQ(again.step(), 5);
  EXPECT_EQ(again.value(), 0.75);
  best.give_up_newest();
  EXPECT_EQ(best.step(), 2);
  EXPECT_THROW(again.restore({1}), std::invalid_argument);
  Best idle;
  idle.observe(1, "val/error", 0);
  EXPECT_FALSE(idle.step());
}

/// Steps that are too long: validation is best early on.
Trial overshooting() {
  Trial trial = tiny_trial();
  trial.train.set("optimizer.lr", 0.6);
  trial.train.set("schedule", Map{{"decay", "constant"}});
  trial.train.set("eval", Map{{"every_steps", 3}});
  trial.train.set("checkpoint", Map{{"every", 10}, {"keep", 2}, {"best", true}});
  trial.metric = {"val/loss", Goal::minimize, {}};
  return trial;
}

/// Step and value of val/loss where it was least.
std::pair<std::int64_t, double> min_loss(const std::vector<fs::path>& folders) {
  std::pair<std::int64_t, double> least{-1, std::numeric_limits<double>::infinity()};
  for (const fs::path& folder : folders)
    for (const Value& line : lines_of(read_journal(folder), "metrics"))
      for (const Value& point : line.find("points")->as_list())
        if (const auto& p = point.as_list();
            p[0].as_string() == "val/loss" && p[2].as_double() < least.second)
          least = {p[1].as_int(), p[2].as_double()};
  return least;
}

std::vector<std::string> checkpoints_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder / "checkpoints"))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

double evaluated_loss(const fs::path& folder, const WhichCheckpoint& which) {
  const Value answer =
      jobspec::read_yaml(evaluate_trial(folder / "trial.yaml", which, true), "answer");
  for (const auto& [name, value] : answer.find("metrics")->as_map())
    if (name == "val/loss") return value.as_double();
  return -1;
}

TEST(BestCheckpoint, StaysBesideTheNewestAtTheStepOfItsValidation) {
  const test::TempDir with, without;
  Trial trial = overshooting();
  run_to_end(trial, with.path(), 2);
  jobspec::write_trial(trial, with.path() / "trial.yaml");
  const auto [step, loss] = min_loss({with.path()});
  ASSERT_GT(step, 0);
  ASSERT_LT(step, 50) << "the trial is to be best before its newest checkpoints";
  ASSERT_NE(step % 10, 0) << "and between those that are due anyway";
  EXPECT_THAT(checkpoints_in(with.path()),
              ElementsAre(checkpoint_name(step), checkpoint_name(50), checkpoint_name(60)));
  EXPECT_EQ(evaluated_loss(with.path(), {{}, true}), loss);
  EXPECT_NE(evaluated_loss(with.path(), {}), loss);
  std::int64_t told = -1;
  for (const Value& line : lines_of(read_journal(with.path()), "checkpoint"))
    if (line.find("best") != nullptr) told = line.find("step")->as_int();
  EXPECT_EQ(told, step);

  trial.train.set("checkpoint.best", false);
  run_to_end(trial, without.path(), 1);
  EXPECT_EQ(curve({with.path()}), curve({without.path()}));
  EXPECT_THAT(checkpoints_in(without.path()),
              ElementsAre(checkpoint_name(50), checkpoint_name(60)));
  jobspec::write_trial(trial, without.path() / "trial.yaml");
  EXPECT_THAT(
      [&] {
        evaluate_trial(without.path() / "trial.yaml", {{}, true}, false);
      },
      testing::ThrowsMessage<std::invalid_argument>(HasSubstr("checkpoint.best: true")));
}

TEST(BestCheckpoint, IsNoSecondCopyOfANewestOne) {
  const test::TempDir folder;
  Trial trial = overshooting();
  trial.train.set("optimizer.lr", 0.001);  // each validation is better than the one before
  trial.train.set("eval", Map{{"every_steps", 10}});
  run_to_end(trial, folder.path(), 1);
  ASSERT_EQ(min_loss({folder.path()}).first, 60);
  EXPECT_THAT(checkpoints_in(folder.path()), ElementsAre(checkpoint_name(50), checkpoint_name(60)));
}

TEST(BestCheckpoint, IsKeptWhereNoOthersAre) {
  const test::TempDir folder;
  Trial trial = overshooting();
  trial.train.set("checkpoint.every", 0);
  trial.train.set("stop", Map{{"patience", 3}});
  run_to_end(trial, folder.path(), 2);
  const auto step = min_loss({folder.path()}).first;
  EXPECT_EQ(read_journal(folder.path()).back().find("step")->as_int(), step + 9);
  EXPECT_EQ(checkpoints_in(folder.path()).front() <= checkpoint_name(step), true);
  EXPECT_EQ(best_checkpoint({folder.path() / "checkpoints"}).checkpoint->step, step);
}

TEST(BestCheckpoint, OfAnEarlierAttemptIsTheBestOfTheTrial) {
  const test::TempDir whole, first, second;
  Trial trial = overshooting();
  run_to_end(trial, whole.path(), 1);
  const auto best = min_loss({whole.path()});
  run_to_end(trial, first.path(), 2);
  for (const std::int64_t step : {50, 60})  // as if it had been lost after 40 steps
    fs::remove(first.path() / "checkpoints" / checkpoint_name(step));
  const auto left = newest_checkpoint({first.path() / "checkpoints"});
  ASSERT_EQ(left.checkpoint->step, best.first);
  trial.resume = {first.path() / "checkpoints"};
  run_to_end(trial, second.path(), 3);
  EXPECT_EQ(curve({first.path(), second.path()}), curve({whole.path()}));
  jobspec::write_trial(trial, second.path() / "trial.yaml");
  EXPECT_EQ(checkpoints_in(second.path()).size(), 2u);  // the best one is the first attempt's
  EXPECT_EQ(evaluated_loss(second.path(), {{}, true}), best.second);
  fs::remove(left.file);
  EXPECT_THAT(
      [&] {
        evaluate_trial(second.path() / "trial.yaml", {{}, true}, false);
      },
      testing::ThrowsMessage<std::invalid_argument>(HasSubstr("is no longer in")));
}

/// What cannot be written for the best alone ends nothing.
TEST(BestCheckpoint, ThatCannotBeWrittenIsWarnedOf) {
  const test::TempDir whole, folder;
  Trial trial = overshooting();
  trial.train.set("checkpoint.every", 0);
  run_to_end(trial, whole.path(), 1);
  const auto best = min_loss({whole.path()});
  // A folder where the file would be written.
  fs::create_directories(folder.path() / "checkpoints" /
                         (checkpoint_name(best.first).string() + ".new") / "full");
  run_to_end(trial, folder.path(), 2);
  EXPECT_EQ(curve({folder.path()}), curve({whole.path()}));
  std::vector<std::string> warnings;
  for (const Value& note : lines_of(read_journal(folder.path()), "note"))
    if (note.find("level")->as_string() == "warning")
      warnings.push_back(note.find("text")->as_string());
  EXPECT_THAT(warnings,
              testing::Contains(HasSubstr("the best checkpoint, of step " +
                                          std::to_string(best.first) + ", could not be written")));
  const auto kept = best_checkpoint({folder.path() / "checkpoints"});
  EXPECT_NE(kept.checkpoint->step, best.first);
}

TEST(BestCheckpoint, NeedsAMetricOfValidation) {
  const test::TempDir folder;
  Trial trial = overshooting();
  trial.metric.name = "train/loss";
  for (const RankEnd& end : run_ranks(trial, folder.path(), 2, StopFlag())) {
    EXPECT_EQ(end.failure.code, ExitCode::bad_input);
    EXPECT_THAT(end.failure.reason,
                testing::AnyOf(HasSubstr("checkpoint.best: validation does not report train/loss"),
                               HasSubstr("rank")));
  }
}

/// Weights before training may be the best ones.
TEST(BestCheckpoint, MayBeThatOfTheStart) {
  const test::TempDir whole, folder;
  Trial trial = overshooting();
  trial.train.set("optimizer", Map{{"name", "sgd"}, {"lr", 50.0}});
  trial.train.set("eval", Map{{"every_steps", 1}, {"at_start", true}});
  trial.train.set("steps", 4);
  trial.train.set("checkpoint.every", 0);
  trial.train.set("epochs", Value());
  std::erase_if(trial.train.as_map(), [](const auto& entry) { return entry.first == "epochs"; });
  run_to_end(trial, whole.path(), 1);
  ASSERT_EQ(min_loss({whole.path()}).first, 0);
  EXPECT_THAT(checkpoints_in(whole.path()), ElementsAre(checkpoint_name(0)));
  fs::create_directories(folder.path());
  trial.resume = {whole.path() / "checkpoints"};
  run_to_end(trial, folder.path(), 2);  // goes on from step 0, which is not judged again
  EXPECT_EQ(curve({whole.path(), folder.path()}), curve({whole.path()}));
  EXPECT_THAT(curve({folder.path()}), testing::Not(testing::Contains(HasSubstr("val/loss 0 "))));
}

}  // namespace
}  // namespace thalweg::engine
