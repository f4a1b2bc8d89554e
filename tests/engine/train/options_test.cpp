// The `train` tree: defaults, diagnostics, and what follows from it.
#include "engine/train/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "jobspec/complete.h"
#include "jobspec/diagnostic.h"
#include "jobspec/schema.h"
#include "jobspec/value.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

using jobspec::Map;
using jobspec::Value;
using testing::HasSubstr;

Value from_yaml(const std::string& text) {
  return jobspec::read_yaml(text, "trial.yaml");
}

Value filled(const std::string& text) {
  return jobspec::complete_train(from_yaml(text), train_schema(), "trial.yaml");
}

constexpr const char* kMinimal =
    "{model: {name: lenet}, data: {name: fashion-mnist}, optimizer: {name: adamw}}";

TEST(Complete, FillsEveryDefault) {
  const Value tree = filled(kMinimal);
  EXPECT_EQ(tree.find("batch.global")->as_int(), 128);
  EXPECT_EQ(tree.find("batch.shards")->as_string(), "auto");
  EXPECT_EQ(tree.find("data.validation")->as_string(), "auto");
  EXPECT_EQ(tree.find("schedule.decay")->as_string(), "constant");
  EXPECT_EQ(tree.find("schedule.warmup")->as_string(), "none");
  EXPECT_EQ(tree.find("sync.mode")->as_string(), "sync");
  EXPECT_EQ(tree.find("optimizer.lr")->as_string(), "auto");
  EXPECT_EQ(tree.find("epochs"), nullptr);
}

TEST(Complete, KeepsWhatIsGiven) {
  const Value tree = filled(
      "{model: {name: mlp, hidden: [7]}, data: {name: synthetic, noise: 2}, optimizer: {name: sgd, "
      "lr: 0.5}, batch: {global: 64, shards: 8}, steps: 10, device: reference}");
  EXPECT_EQ(tree.find("model.hidden")->to_json(), "[7]");
  EXPECT_EQ(tree.find("optimizer.lr")->as_double(), 0.5);
  const Settings s = read_settings(tree);
  EXPECT_EQ(s.global_batch, 64);
  EXPECT_EQ(s.shards, 8);
  EXPECT_EQ(s.steps, 10);
  EXPECT_EQ(s.device, "reference");
}

TEST(Complete, WhatIsNullHasItsDefault) {
  const Value tree = filled(
      "{model: {name: lenet}, data: {name: fashion-mnist, fraction: null}, optimizer: {name: "
      "adamw}, batch: null, epochs: null, steps: 3}");
  EXPECT_EQ(tree.find("batch.global")->as_int(), 128);
  EXPECT_EQ(tree.find("data.fraction")->as_double(), 1);
  EXPECT_EQ(read_settings(tree).steps, 3);
  EXPECT_THROW(filled("{model: {name: lenet}, data: {name: synthetic}, optimizer: {name: sgd}, "
                      "epoch: null}"),
               jobspec::InputError);
}

TEST(Complete, CompletingAgainChangesNothing) {
  const Value once = filled(kMinimal);
  EXPECT_EQ(jobspec::complete_train(once, train_schema(), "trial.yaml"), once);
}

/// One bad file for each mistake; its first line holds what the message must say.
TEST(Complete, NamesEveryMistake) {
  const std::filesystem::path folder =
      std::filesystem::path(THALWEG_SOURCE_DIR) / "tests/engine/train/invalid";
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    SCOPED_TRACE(entry.path().filename().string());
    ++files;
    const std::string text = test::read_file(entry.path());
    ASSERT_EQ(text.rfind("# ", 0), 0u);
    const std::string expected = text.substr(2, text.find('\n') - 2);
    try {
      filled(text);
      ADD_FAILURE() << "accepted";
    } catch (const jobspec::InputError& e) {
      EXPECT_THAT(e.what(), HasSubstr(expected));
    }
  }
  EXPECT_EQ(files, 16);
}

TEST(Settings, EpochsAndStepsExcludeEachOther) {
  Value tree = filled(kMinimal);
  EXPECT_EQ(read_settings(tree).epochs, 1);
  tree.set("epochs", 2);
  tree.set("steps", 5);
  EXPECT_THROW(read_settings(tree), std::invalid_argument);
}

TEST(Settings, PrecisionIsFp32UnlessGiven) {
  Value tree = filled(kMinimal);
  EXPECT_EQ(read_settings(tree).precision, Precision::fp32);
  tree.set("precision", "bf16");
  EXPECT_EQ(read_settings(tree).precision, Precision::bf16);
}

TEST(Settings, DeviceAutoIsTheCpu) {
  EXPECT_EQ(read_settings(filled(kMinimal)).device, "cpu");
}

TEST(Settings, DeviceAutoLeavesGpusAloneUntilOneHasBeenSeen) {
  const DeviceChoice without = resolve_device("auto", 0, 0, false);
  EXPECT_EQ(without.name, "cpu");
  EXPECT_EQ(without.note, "");
  const DeviceChoice with = resolve_device("auto", 1, 0, false);
  EXPECT_EQ(with.name, "cpu");
  EXPECT_THAT(with.note, HasSubstr("experimental: not yet run on a GPU"));
  EXPECT_THAT(with.note, HasSubstr("device: cuda takes it"));
  for (const int here : {0, 1})
    EXPECT_THROW(resolve_device("auto", here, 1, false), std::invalid_argument);
  for (const char* name : {"cuda", "cpu"})
    EXPECT_EQ(resolve_device(name, 1, 1, false).name, name);
}

TEST(Settings, DeviceAutoTakesGpusOnceOneHasBeenSeen) {
  EXPECT_EQ(resolve_device("auto", 0, 0, true).name, "cpu");
  EXPECT_EQ(resolve_device("auto", 1, 0, true).name, "cuda");
  EXPECT_EQ(resolve_device("auto", 0, 1, true).name, "cuda");  // and then fails, as it is not there
  EXPECT_EQ(resolve_device("auto", 1, 0, true).note, "");
}

Settings batch_of(int samples) {
  Settings s;
  s.global_batch = samples;
  s.epochs = 1;
  return s;
}

std::string complaint(const Settings& settings, int ranks) {
  try {
    choose_shards(settings, {ranks}, 0);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Shards, AutoIsAPowerOfTwoOfAtLeastFourAndTheRanks) {
  for (const int ranks : {1, 2, 3, 4})
    EXPECT_EQ(choose_shards(batch_of(128), {ranks}, 0), 4);
  EXPECT_EQ(choose_shards(batch_of(128), {5}, 0), 8);
  EXPECT_EQ(choose_shards(batch_of(128), {8}, 0), 8);
}

TEST(Shards, AResumedRunKeepsThoseOfTheCheckpoint) {
  EXPECT_EQ(choose_shards(batch_of(128), {2}, 16), 16);
  EXPECT_EQ(choose_shards(batch_of(128), {32}, 16), 32);
  Settings said = batch_of(128);
  said.shards = 8;
  EXPECT_EQ(choose_shards(said, {2}, 16), 8);
}

TEST(Shards, AutoTakesADivisorOfTheBatch) {
  EXPECT_EQ(choose_shards(batch_of(29), {1}, 0), 1);
  EXPECT_EQ(choose_shards(batch_of(100), {1}, 0), 4);
  for (const int ranks : {1, 2, 3})
    EXPECT_EQ(choose_shards(batch_of(30), {ranks}, 0), 3);
  EXPECT_EQ(choose_shards(batch_of(30), {4}, 0), 5);
  EXPECT_EQ(choose_shards(batch_of(30), {6}, 0), 6);
  EXPECT_EQ(choose_shards(batch_of(100), {8}, 0), 10);
  EXPECT_EQ(choose_shards(batch_of(8), {8}, 0), 8);
}

TEST(Shards, TrialsOfOneSweepHaveThoseOfTheLargest) {
  for (const int ranks : {1, 2, 3, 4, 5, 8, 16}) {
    EXPECT_EQ(choose_shards(batch_of(128), {ranks, 16}, 0), 16);
    EXPECT_EQ(shards_note(batch_of(128), {ranks, 16}, 16), "");
    EXPECT_EQ(choose_shards(batch_of(100), {ranks, 16}, 0), 20);  // 16 ranks need 20
  }
  EXPECT_EQ(choose_shards(batch_of(24), {2, 64}, 0), 4);  // 64 ranks cannot share 24 samples
  EXPECT_EQ(choose_shards(batch_of(128), {2, 16}, 8), 8);
}

TEST(Batch, PerRankTimesTheRanksIsTheGlobalBatch) {
  const auto complete = [](const std::string& text, int ranks) {
    return complete_for(from_yaml(text), ranks, train_schema(), "trial.yaml");
  };
  const std::string least = std::string(kMinimal, std::strlen(kMinimal) - 1);
  EXPECT_EQ(complete(least + ", batch: {per_rank: 24}}", 3),
            complete(least + ", batch: {global: 72}}", 1));
  EXPECT_THAT([&] { complete(least + ", batch: {global: 72, per_rank: 24}}", 3); },
              testing::ThrowsMessage<std::invalid_argument>(
                  HasSubstr("both batch.global and batch.per_rank are set")));
  EXPECT_THAT([&] { complete(least + ", batch: {per_rank: 2000000000}}", 3); },
              testing::ThrowsMessage<std::invalid_argument>(HasSubstr("more than can be counted")));
}

TEST(Shards, AnotherCurveThanOneRanksIsSaid) {
  for (const int ranks : {1, 2, 3, 4})
    EXPECT_EQ(shards_note(batch_of(128), {ranks}, choose_shards(batch_of(128), {ranks}, 0)), "");
  EXPECT_THAT(shards_note(batch_of(128), {5}, choose_shards(batch_of(128), {5}, 0)),
              HasSubstr("batch.shards: auto is 8 for 5 ranks and 4 for one"));
  EXPECT_THAT(shards_note(batch_of(30), {4}, 5), HasSubstr("auto is 5 for 4 ranks and 3 for one"));
  Settings said = batch_of(128);
  said.shards = 8;
  EXPECT_EQ(shards_note(said, {5}, 8), "");
}

TEST(Shards, ComplaintsNameTheRemedy) {
  EXPECT_THAT(complaint(batch_of(58), 8),
              AllOf(HasSubstr("58 samples do not divide into 8 shards"), HasSubstr("multiple of 8"),
                    HasSubstr("one of 29, 58")));
  EXPECT_THAT(complaint(batch_of(29), 2), HasSubstr("29 samples do not divide into 4 shards"));
  Settings two = batch_of(100);
  two.shards = 2;
  EXPECT_THAT(complaint(two, 3), HasSubstr("3 ranks cannot share 2 shards; use at most 2 ranks"));
}

TEST(Plan, CountsWholeBatches) {
  Settings s = batch_of(128);
  s.epochs = 3;
  const Plan plan = make_plan(s, 55000);
  EXPECT_EQ(plan.length.steps_per_epoch, 429);
  EXPECT_EQ(plan.length.total_steps, 1287);
  EXPECT_EQ(plan.log_every, 21);
  EXPECT_EQ(plan.checkpoint.steps, 429);
  EXPECT_TRUE(plan.checkpoint_due(858));
  EXPECT_FALSE(plan.checkpoint_due(430));
  EXPECT_TRUE(plan.eval_due(429));
  EXPECT_FALSE(plan.eval_due(430));
  EXPECT_TRUE(plan.log_due(1287));
}

TEST(Plan, TheLastStepIsAlwaysReportedAndJudged) {
  Settings s = batch_of(10);
  s.epochs.reset();
  s.steps = 13;
  s.log_every = 5;
  s.checkpoint_every = Every{Every::Unit::steps, 0};
  const Plan plan = make_plan(s, 100);
  EXPECT_TRUE(plan.log_due(13));
  EXPECT_TRUE(plan.eval_due(13));
  EXPECT_FALSE(plan.checkpoint_due(13));
}

TEST(Plan, RefusesEpochsOfMoreStepsThanCanBeCounted) {
  Settings s = batch_of(10);
  s.epochs = 999'999'999'999;
  EXPECT_THAT([&] { make_plan(s, 100); },
              testing::ThrowsMessage<std::invalid_argument>(
                  testing::AllOf(HasSubstr("epochs"), HasSubstr("use at most 99999999999"))));
  s.epochs = 1;
  s.eval_every.count = 999'999'999'999;
  EXPECT_THAT([&] { make_plan(s, 100); },
              testing::ThrowsMessage<std::invalid_argument>(HasSubstr("eval.every")));
  s.eval_every.count = 1;
  s.epochs.reset();
  s.steps = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT([&] { make_plan(s, 100); },
              testing::ThrowsMessage<std::invalid_argument>(HasSubstr("steps: 922337")));
}

TEST(Complete, RefusesNumbersThatWouldBeCutWhereTheyAreUsed) {
  const std::string least = std::string(kMinimal, std::strlen(kMinimal) - 1);
  ASSERT_NO_THROW(filled(least + ", batch: {global: 2147483647}}"));
  const std::pair<const char*, const char*> table[] = {
      {"batch: {global: 4294967328}", "batch.global"},
      {"batch: {shards: 4294967296}", "batch.shards"},
      {"checkpoint: {keep: 4294967298}", "checkpoint.keep"}};
  for (const auto& [text, key] : table)
    EXPECT_THAT([&] { filled(least + ", " + text + "}"); },
                testing::ThrowsMessage<jobspec::InputError>(HasSubstr(key)));
}

TEST(Plan, RefusesABatchLargerThanTheTrainingSet) {
  EXPECT_THROW(make_plan(batch_of(101), 100), std::invalid_argument);
}

TEST(Schema, HasASectionForEveryTable) {
  std::vector<std::string> paths;
  for (const auto& section : train_schema().sections)
    paths.push_back(section.path);
  for (const char* path : {"", "batch", "log", "eval", "checkpoint", "model", "data", "augment",
                           "optimizer", "schedule", "sync"})
    EXPECT_THAT(paths, testing::Contains(path));
}

TEST(Schema, EveryDefaultIsAllowedByItself) {
  for (const auto& section : train_schema().sections)
    for (const auto& option : section.options) {
      if (option.default_value.is_number()) {
        EXPECT_GE(option.default_value.as_double(), option.min) << option.name;
      }
      EXPECT_FALSE(option.doc.empty()) << section.path << "." << option.name;
    }
}

}  // namespace
}  // namespace thalweg::engine
