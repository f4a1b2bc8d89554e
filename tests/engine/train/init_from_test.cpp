// init_from: a run that begins with the weights of another, or goes on from its state.
#include "engine/train/init_from.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "engine/gpu/gpu.h"
#include "engine/nn/graph.h"
#include "engine/train/check.h"
#include "engine/train/export.h"
#include "tests/engine/train/support.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

namespace fs = std::filesystem;
using jobspec::List;
using jobspec::Map;
using jobspec::Trial;
using jobspec::Value;
using testing::Contains;
using testing::HasSubstr;

/// Trained to its end of 60 steps, with checkpoints at 20, 40 and 60.
Trial train_in(const fs::path& folder, Trial trial = tiny_trial()) {
  trial.train.set("checkpoint", Map{{"every", 20}, {"keep", 9}});
  run_to_end(trial, folder, 2);
  jobspec::write_trial(trial, folder / "trial.yaml");
  return trial;
}

Trial begun_with(Trial trial, Map from) {
  trial.train.set("init_from", std::move(from));
  return trial;
}

Checkpoint checkpoint_of(const fs::path& folder, std::int64_t step) {
  return read_checkpoint(folder / "checkpoints" / checkpoint_name(step));
}

/// Why rank 0 would not begin.
std::string refusal(const Trial& trial) {
  const test::TempDir folder;
  const auto ends = run_ranks(trial, folder.path(), 2, StopFlag());
  EXPECT_TRUE(ends[0].threw);
  EXPECT_EQ(ends[0].failure.code, ExitCode::bad_input);
  EXPECT_EQ(ends[1].failure.code, ExitCode::bad_input);
  return ends[0].failure.reason;
}

/// What the first start record says of it; null where it says nothing.
Value begun_of(const fs::path& folder) {
  const std::vector<Value> starts = lines_of(read_journal(folder), "start");
  const Value* const from = starts.front().find("init_from");
  return from != nullptr ? *from : Value();
}

void expect_continued(const Trial& trial, int ranks) {
  const test::TempDir whole, folder;
  Trial source = train_in(whole.path(), trial);
  fs::create_directories(folder.path() / "source");
  fs::copy_file(whole.path() / "checkpoints" / checkpoint_name(40),
                folder.path() / "source" / checkpoint_name(40));
  // Of another attempt in other words: no resume.
  run_to_end(begun_with(source, {{"file", (folder.path() / "source").string()}, {"state", "all"}}),
             folder.path() / "run", ranks);
  const auto points = curve({folder.path() / "run"}), all = curve({whole.path()});
  EXPECT_GT(points.size(), 10u);
  for (const std::string& point : points)
    EXPECT_THAT(all, Contains(point));
  EXPECT_EQ(checkpoint_of(folder.path() / "run", 60).parameters,
            checkpoint_of(whole.path(), 60).parameters);
  const Value from = begun_of(folder.path() / "run");
  EXPECT_EQ(from.find("step")->as_int(), 40);
  EXPECT_EQ(from.find("state")->as_string(), "all");
  EXPECT_EQ(read_journal(folder.path() / "run").front().find("resumed_step")->as_int(), 0);
}

TEST(InitFrom, AllGoesOnBitwiseOnOtherRanks) {
  for (const int ranks : {1, 3})
    expect_continued(tiny_trial(), ranks);
}

TEST(InitFrom, AllGoesOnBitwiseOnAGpu) {
  if (gpu::gpu_count() == 0) setenv("THALWEG_GPU", "emulated", 1);
  Trial trial = tiny_trial();
  trial.train.set("device", "cuda");
  trial.train.set("batch.shards", 4);
  trial.train.set("kernels.measure", "never");
  expect_continued(trial, 4);
}

/// A longer run with another rate, out of a finished one: what a population or a second phase does.
TEST(InitFrom, AllTakesOtherSettings) {
  const test::TempDir first, second;
  Trial trial = train_in(first.path());
  trial = begun_with(trial, {{"file", first.path().string()}, {"state", "all"}});
  EXPECT_THAT(refusal(trial), HasSubstr("continues from step 60, and this run has 60 steps"));
  trial.train.set("epochs", 4);
  trial.train.set("optimizer.lr", 0.001);
  trial.train.set("schedule", Map{{"decay", "constant"}});
  run_to_end(trial, second.path(), 2);
  EXPECT_EQ(checkpoint_of(second.path(), 80).step, 80);
  EXPECT_THAT(curve({second.path()}), Contains("lr 66 0.001"));
  trial.train.set("optimizer", Map{{"name", "momentum"}, {"lr", 0.1}});
  EXPECT_THAT(refusal(trial), HasSubstr("init_from.state: all needs the same optimizer: that of"));
}

/// Weights of a .npz, a .safetensors file and the checkpoint itself begin the same run, from step
/// 0, on any ranks; a restart goes on from its own checkpoints, whether the source is there or not.
TEST(InitFrom, WeightsBeginANewRun) {
  const test::TempDir source, folder;
  const Trial trial = train_in(source.path());
  const auto written = source.path() / "trial.yaml";
  export_trial(written, {}, folder.path() / "w.npz");
  export_trial(written, {}, folder.path() / "w.safetensors");
  fs::copy_file(source.path() / "checkpoints" / checkpoint_name(60), folder.path() / "w.ckpt");
  std::vector<std::string> first;
  int ranks = 1;
  for (const char* name : {"w.npz", "w.safetensors", "w.ckpt"}) {
    const fs::path run = folder.path() / std::to_string(ranks);
    Trial tuned = begun_with(trial, {{"file", (folder.path() / name).string()}});
    tuned.train.set("eval.at_start", true);
    run_to_end(tuned, run, ranks++);
    const auto points = curve({run});
    if (first.empty()) first = points;
    EXPECT_EQ(points, first) << name;
    fs::remove(folder.path() / name);
    fs::remove(run / "checkpoints" / checkpoint_name(60));
    run_to_end(tuned, run, 2);
    EXPECT_EQ(curve({run}), first) << name << ", again";
  }
  // What it begins with is what the source ended with.
  std::string of_source;
  for (const std::string& point : curve({source.path()}))
    if (point.starts_with("val/loss 60 ")) of_source = point.substr(12);
  EXPECT_THAT(first, Contains("val/loss 0 " + of_source));
}

TEST(InitFrom, AnotherLastLayerStartsAfresh) {
  const test::TempDir source, folder;
  Trial trial = train_in(source.path());
  trial.train.set("data.classes", 3);
  trial = begun_with(trial, {{"file", source.path().string()}});
  EXPECT_THAT(refusal(trial),
              testing::AllOf(HasSubstr("init_from.file: "), HasSubstr("this model's is (3, "),
                             HasSubstr("lets it start afresh")));
  const std::string text = refusal(trial);
  const std::size_t at = text.find("init_from.except: [") + 19;
  const std::string name = text.substr(at, text.find('.', at) - at);
  trial.train.set("init_from.except", List{name + ".*"});
  run_to_end(trial, folder.path(), 2);
  EXPECT_EQ(begun_of(folder.path()).find("fresh")->as_list().size(), 2u);
  trial.train.set("init_from.except", List{"head.*"});
  EXPECT_THAT(refusal(trial), HasSubstr("head.* is none of this model's arrays"));
}

TEST(InitFrom, NamesMayHaveAPrefix) {
  const test::TempDir source, folder;
  const Trial trial = train_in(source.path());
  const Checkpoint c = checkpoint_of(source.path(), 60);
  std::vector<NamedTensor> tensors;
  for (const WeightName& w : c.names) {
    const std::vector<float>& all = w.statistic ? c.running : c.parameters;
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(w.offset);
    tensors.push_back({"module." + w.name, w.shape, {begin, begin + elements(w.shape)}});
  }
  ASSERT_FALSE(tensors.empty());
  const auto file = folder.path() / "w.safetensors";
  write_tensors(file, tensors);
  EXPECT_THAT(refusal(begun_with(trial, {{"file", file.string()}})),
              testing::AllOf(HasSubstr(" has no "), HasSubstr("there are: module.")));
  run_to_end(begun_with(trial, {{"file", file.string()}, {"prefix", "module."}}),
             folder.path() / "run", 1);
  test::write_file(file, "12345678{");
  EXPECT_THAT(refusal(begun_with(trial, {{"file", file.string()}})),
              HasSubstr("not a safetensors file"));
}

TEST(InitFrom, RefusesWhatItCannotMean) {
  const Trial trial = tiny_trial();
  EXPECT_THAT(refusal(begun_with(trial, {{"trial", "12.3"}})),
              HasSubstr("init_from.trial: trial 12.3 has no folder of checkpoints here"));
  EXPECT_THAT(refusal(begun_with(trial, {{"trial", "12.3"}, {"file", "/w.npz"}})),
              HasSubstr("keep one of them"));
  EXPECT_THAT(refusal(begun_with(trial, {{"state", "all"}})), HasSubstr("says where from"));
  EXPECT_THAT(refusal(begun_with(trial, {{"file", "/nowhere/w.npz"}})),
              testing::AllOf(HasSubstr("init_from.file"), HasSubstr("No such file")));
  const test::TempDir empty;
  EXPECT_THAT(refusal(begun_with(trial, {{"file", empty.path().string()}})),
              HasSubstr("there is no checkpoint in"));
  EXPECT_THAT(refusal(begun_with(trial, {{"file", (empty.path() / "w.pt").string()}})),
              HasSubstr("init_from.file"));
}

TEST(InitFrom, TheTrialsFoldersComeFromTheController) {
  const test::TempDir source, folder;
  Trial trial = begun_with(train_in(source.path()), {{"trial", "12.3"}});
  trial.init_from = {source.path() / "checkpoints"};
  run_to_end(trial, folder.path(), 2);
  EXPECT_EQ(begun_of(folder.path()).find("trial")->as_string(), "12.3");
  EXPECT_EQ(begun_of(folder.path()).find("step")->as_int(), 60);
  trial.train.set("init_from.checkpoint", "best");
  EXPECT_THAT(refusal(trial), HasSubstr("is known to be the best"));
}

TEST(InitFrom, IsLookedAtByTheCheck) {
  const test::TempDir source;
  Trial trial = train_in(source.path());
  const auto errors = [](const Trial& of, bool elsewhere = false) {
    return Checker({elsewhere}).check({of.train, of.resources, "sweep.yaml"});
  };
  trial = begun_with(trial, {{"file", source.path().string()}});
  EXPECT_TRUE(errors(trial).errors.empty());
  trial.train.set("model.hidden", List{13});
  ASSERT_EQ(errors(trial).errors.size(), 1u);
  EXPECT_EQ(errors(trial).errors[0].key, "init_from.file");
  EXPECT_THAT(errors(trial).errors[0].message, HasSubstr("this model's is (13, "));
  trial.train.set("init_from.file", "/nowhere/w.npz");
  ASSERT_EQ(errors(trial).errors.size(), 1u);
  EXPECT_THAT(errors(trial).errors[0].message, HasSubstr("No such file"));
  EXPECT_TRUE(errors(trial, true).errors.empty());
  EXPECT_THAT(errors(trial, true).notes, Contains(HasSubstr("init_from.file cannot be read")));
}

/// A sweep of many trials that begin with one checkpoint reads it once.
TEST(InitFrom, IsReadOnceForTrialsThatShareIt) {
  const test::TempDir source;
  const Trial base = train_in(source.path());
  const fs::path file = source.path() / "checkpoints" / checkpoint_name(60);
  Checker checker;
  const auto check = [&](const Trial& of) {
    return checker.check({of.train, of.resources, "sweep.yaml"});
  };
  Trial trial = begun_with(base, {{"file", file.string()}, {"state", "all"}});
  trial.train.set("epochs", 4);
  EXPECT_TRUE(check(trial).errors.empty());
  fs::remove(file);
  trial.train.set("optimizer.lr", 0.002);
  EXPECT_TRUE(check(trial).errors.empty());
  // What depends on the other settings is still looked at, and another model reads anew.
  trial.train.set("epochs", 2);
  ASSERT_EQ(check(trial).errors.size(), 1u);
  EXPECT_THAT(check(trial).errors[0].message, HasSubstr("continues from step 60"));
  trial.train.set("model.hidden", List{13});
  ASSERT_EQ(check(trial).errors.size(), 1u);
  EXPECT_THAT(check(trial).errors[0].message, HasSubstr("No such file"));
}

}  // namespace
}  // namespace thalweg::engine
