// Whole attempts on a GPU; without one on the emulated machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>

#include "engine/gpu/gpu.h"
#include "engine/gpu/library.h"
#include "engine/tensor/random.h"
#include "engine/train/check.h"
#include "engine/train/checkpoint.h"
#include "engine/train/program.h"
#include "tests/engine/train/support.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

using jobspec::List;
using jobspec::Map;
using jobspec::Trial;
using jobspec::Value;
using testing::HasSubstr;
using testing::Not;

class GpuAttempt : public testing::Test {
 protected:
  void SetUp() override {
    if (gpu::gpu_count() == 0) setenv("THALWEG_GPU", "emulated", 1);
  }
};

Trial on_gpu() {
  Trial trial = tiny_trial();
  trial.train.set("device", "cuda");
  trial.train.set("batch.shards", 4);
  trial.train.set("kernels.measure", "never");  // runs are compared that share no file
  return trial;
}

TEST_F(GpuAttempt, CurveDoesNotDependOnRanks) {
  const test::TempDir one;
  run_to_end(on_gpu(), one.path(), 1);
  const auto expected = curve({one.path()});
  ASSERT_FALSE(expected.empty());
  for (const int ranks : {2, 4}) {
    const test::TempDir folder;
    run_to_end(on_gpu(), folder.path(), ranks);
    EXPECT_EQ(curve({folder.path()}), expected) << ranks;
  }
}

/// What a sweep over nodes compares, as Attempt's test of this name does it on the cpu: batch norm
/// included, with the shards left to `auto`.
TEST_F(GpuAttempt, AutomaticShardsOfASweepGiveOneCurveOnAnyRanks) {
  std::vector<std::string> first;
  for (const int ranks : {1, 2, 3, 4, 5, 8, 16}) {
    const test::TempDir folder;
    Trial trial = on_gpu();
    trial.train.set("batch", Map{{"global", 48}});
    trial.train.set("epochs", 1);
    trial.train.set("log.every", 1);
    trial.sweep_ranks = 16;
    run_to_end(trial, folder.path(), ranks);
    EXPECT_EQ(read_journal(folder.path()).front().find("shards")->as_int(), 16);
    const auto points = curve({folder.path()});
    if (first.empty()) first = points;
    EXPECT_EQ(points, first) << ranks << " ranks";
  }
  EXPECT_GT(first.size(), 10u);
}

TEST_F(GpuAttempt, CurveDoesNotDependOnTheExchange) {
  if (!gpu::gpu(0).info().emulated) GTEST_SKIP() << "ranks as threads have one GPU in common";
  const test::TempDir host;
  Trial trial = on_gpu();
  run_to_end(trial, host.path(), 3);
  EXPECT_THAT(test::read_file(host.path() / "journal.jsonl"),
              HasSubstr("gradients go between GPUs through the host's memory (nccl: the GPU is "
                        "emulated; ucx: the GPU is emulated)"));
  for (const char* way : {"nccl", "ucx"}) {
    const test::TempDir folder;
    trial.train.set("sync.gpu_exchange", way);
    run_to_end(trial, folder.path(), 3);
    EXPECT_EQ(curve({folder.path()}), curve({host.path()})) << way;
  }
}

TEST_F(GpuAttempt, SaysWhichGpuARankTakesAndHowTheStepsTimesAre) {
  const test::TempDir folder;
  run_to_end(on_gpu(), folder.path(), 2);
  const std::string journal = test::read_file(folder.path() / "journal.jsonl");
  EXPECT_THAT(journal, HasSubstr("rank 0 computes on GPU 0: "));
  for (const char* name : {"compute_ms", "optimizer_ms", "comm_ms", "overlap", "samples_per_s"})
    EXPECT_THAT(journal, HasSubstr(std::string("perf/") + name));
}

TEST_F(GpuAttempt, JournalSaysOnceWhatTheGpusLibraryWouldNotDo) {
  gpu::note_refusal("attention 512x512x136 forward", "heads are too wide");
  gpu::note_refusal("attention 512x512x136 backward", "heads are too wide");
  const test::TempDir folder;
  run_to_end(on_gpu(), folder.path(), 2);
  const std::string journal = test::read_file(folder.path() / "journal.jsonl");
  const std::string text =
      "done without the GPU's library: attention 512x512x136 forward: heads are too wide";
  const std::size_t at = journal.find(text);
  ASSERT_NE(at, std::string::npos) << journal;
  EXPECT_EQ(journal.find("heads are too wide", at + text.size()), std::string::npos) << journal;
}

TEST_F(GpuAttempt, ResumesBitwiseInTheMiddleOfAnIntervalOnOtherRanks) {
  Trial trial = on_gpu();
  const test::TempDir whole, parts;
  run_to_end(trial, whole.path(), 1);
  trial.train.set("checkpoint.every", 10);
  trial.train.set("checkpoint.keep", 100);
  run_to_end(trial, parts.path() / "first", 2);
  keep_only(parts.path() / "first", 10);
  Trial rest = trial;
  rest.resume = {parts.path() / "first/checkpoints"};
  run_to_end(rest, parts.path() / "second", 4);
  EXPECT_EQ(curve({parts.path() / "first", parts.path() / "second"}), curve({whole.path()}));
}

class GpuMode : public GpuAttempt, public testing::WithParamInterface<Value> {};

// Its samples come from a loader, weights and states go through checkpoints.
TEST_P(GpuMode, MakesOneCurveOnAnyRanksAndResumesBitwise) {
  Trial trial = on_gpu();
  trial.train.set("sync", GetParam());
  const test::TempDir whole, parts;
  run_to_end(trial, whole.path(), 1);
  const auto expected = without_rounds(curve({whole.path()}));
  ASSERT_GT(expected.size(), 10u);
  trial.train.set("checkpoint.every", 10);
  trial.train.set("checkpoint.keep", 100);
  run_to_end(trial, parts.path() / "first", 2);
  EXPECT_EQ(without_rounds(curve({parts.path() / "first"})), expected);
  keep_only(parts.path() / "first", 10);
  trial.resume = {parts.path() / "first/checkpoints"};
  run_to_end(trial, parts.path() / "second", 3);
  EXPECT_EQ(without_rounds(curve({parts.path() / "first", parts.path() / "second"})), expected);
}

INSTANTIATE_TEST_SUITE_P(Modes, GpuMode,
                         testing::Values(Map{{"mode", "lag"}, {"lag", 2}, {"cooldown_steps", 3}},
                                         Map{{"mode", "abs"}, {"passes", 2}},
                                         Map{{"mode", "hybrid"}, {"groups", 1}}),
                         [](const auto& of) { return of.param.find("mode")->as_string(); });

TEST_F(GpuAttempt, RanksAtTheirOwnPaceTakeAllSamples) {
  for (const Value& sync : {Value(Map{{"mode", "abs"}}), Value(Map{{"mode", "async"}}),
                            Value(Map{{"mode", "hybrid"}, {"groups", 2}, {"servers", 1}})}) {
    Trial trial = on_gpu();
    trial.train.set("sync", sync);
    const test::TempDir folder;
    run_to_end(trial, folder.path(), 4);
    const std::vector<Value> journal = read_journal(folder.path());
    EXPECT_EQ(lines_of(journal, "end").front().find("status")->as_string(), "finished");
    EXPECT_GT(curve({folder.path()}).size(), 10u);
  }
}

// Each rank's optimizer has states of its own, in its GPU's memory.
TEST_F(GpuAttempt, AdasumOfChangesResumesBitwise) {
  for (const char* device : {"cuda", "cpu"}) {
    Trial trial = on_gpu();
    trial.train.set("device", device);
    trial.train.set("sync", Map{{"mode", "adasum"}, {"form", "change"}});
    trial.train.set("checkpoint", Map{{"every", 10}, {"keep", 100}});
    const test::TempDir parts;
    run_to_end(trial, parts.path() / "first", 2);
    const auto expected = curve({parts.path() / "first"});
    keep_only(parts.path() / "first", 10);
    Trial rest = trial;
    rest.resume = {parts.path() / "first/checkpoints"};
    run_to_end(rest, parts.path() / "second", 2);
    EXPECT_EQ(curve({parts.path() / "first", parts.path() / "second"}), expected) << device;
    EXPECT_GT(curve({parts.path() / "second"}).size(), 5U) << device;
  }
}

void write(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

/// Coloured images in bytes, augmented and blended.
Trial with_images(const std::filesystem::path& folder) {
  constexpr std::size_t kImages = 132, kPixels = 3 * 6 * 6;
  std::string images{"\0\0\x08\x04\0\0\0\x84\0\0\0\x03\0\0\0\x06\0\0\0\x06", 20};
  std::string labels{"\0\0\x08\x01\0\0\0\x84", 8};
  for (std::size_t i = 0; i < kImages * kPixels; ++i)
    images += static_cast<char>(philox(1, Stream::noise, 0, i)[0]);
  for (std::size_t i = 0; i < kImages; ++i)
    labels += static_cast<char>(i % 3);
  write(folder / "images.idx", images);
  write(folder / "labels.idx", labels);
  Trial trial = on_gpu();
  trial.train.set("data", Map{{"name", "idx"},
                              {"images", (folder / "images.idx").string()},
                              {"labels", (folder / "labels.idx").string()},
                              {"mean", 0.5},
                              {"deviation", 0.25},
                              {"validation", 12},
                              {"workers", 2}});
  trial.train.set("augment", Map{{"flip", 0.5},
                                 {"crop", 1.0},
                                 {"rotate", 15.0},
                                 {"contrast", 0.3},
                                 {"saturation", 0.3},
                                 {"mixup", 0.4},
                                 {"cutmix", 1.0}});
  trial.train.set("epochs", 6);
  return trial;
}

TEST_F(GpuAttempt, AugmentsTheSameOnAnyRanksAndAfterARestart) {
  const test::TempDir data, one, four, parts;
  Trial trial = with_images(data.path());
  run_to_end(trial, one.path(), 1);
  const auto expected = curve({one.path()});
  ASSERT_FALSE(expected.empty());
  run_to_end(trial, four.path(), 4);
  EXPECT_EQ(curve({four.path()}), expected);
  trial.train.set("checkpoint.every", 7);
  trial.train.set("checkpoint.keep", 100);
  run_to_end(trial, parts.path() / "first", 2);
  keep_only(parts.path() / "first", 7);
  trial.resume = {parts.path() / "first/checkpoints"};
  run_to_end(trial, parts.path() / "second", 1);
  EXPECT_EQ(curve({parts.path() / "first", parts.path() / "second"}), expected);
}

/// The first losses are of equal weights: nearly those of the reference.
TEST_F(GpuAttempt, AugmentsAsTheHostDoes) {
  const test::TempDir data;
  Trial trial = with_images(data.path());
  trial.train.set("log.every", 1);
  double losses[2] = {-1, -1};
  int i = 0;
  for (const char* device : {"reference", "cuda"}) {
    trial.train.set("device", device);
    const test::TempDir folder;
    run_to_end(trial, folder.path(), 1);
    for (const std::string& line : curve({folder.path()}))
      if (line.starts_with("train/loss 1 ")) losses[i] = std::stod(line.substr(line.rfind(' ')));
    ++i;
  }
  EXPECT_GT(losses[0], 0);
  EXPECT_NEAR(losses[0], losses[1], 1e-4 * losses[0]);
}

/// The rest of a run, on another number of ranks, over what it was the first time.
TEST_F(GpuAttempt, ResumesBitwiseWithTheKernelsThatWereMeasured) {
  Trial trial = on_gpu();
  trial.train.set("kernels.measure", "always");
  trial.train.set("checkpoint.every", 10);
  trial.train.set("checkpoint.keep", 100);
  const test::TempDir parts;
  const std::filesystem::path first = parts.path() / "first", rest = parts.path() / "rest";
  run_to_end(trial, first, 2);
  const auto whole = curve({first});
  for (const auto& entry : std::filesystem::directory_iterator(first / "checkpoints"))
    if (entry.path().extension() == ".ckpt" && entry.path().filename() != checkpoint_name(10))
      std::filesystem::remove(entry.path());
  trial.resume = {first / "checkpoints"};
  run_to_end(trial, rest, 4);
  EXPECT_THAT(test::read_file(rest / "journal.jsonl"), HasSubstr("kernels as in "));
  EXPECT_EQ(curve({first, rest}), whole);
}

TEST_F(GpuAttempt, ADivergingRunNamesTheStepOfTheHost) {
  Trial trial = tiny_trial();
  trial.train.set("optimizer", Map{{"name", "sgd"}, {"lr", 1e30}});
  trial.train.set("schedule.decay", "constant");
  std::string reasons[2];
  int i = 0;
  for (const char* device : {"reference", "cuda"}) {
    trial.train.set("device", device);
    const test::TempDir folder;
    const StopFlag stop;
    const std::vector<RankEnd> ends = run_ranks(trial, folder.path(), 1, stop);
    ASSERT_FALSE(ends[0].threw);
    EXPECT_EQ(ends[0].outcome.code, ExitCode::diverged);
    reasons[i++] = ends[0].outcome.reason;
  }
  const auto step = [](const std::string& reason) {
    return reason.substr(reason.find(" at step "));
  };
  EXPECT_EQ(step(reasons[0]), step(reasons[1])) << reasons[0] << '\n' << reasons[1];
}

TEST_F(GpuAttempt, ValidatesAtTheWeightsOfScheduleFree) {
  Trial trial = on_gpu();
  trial.train.set("optimizer", Map{{"name", "schedule_free_adamw"}, {"lr", 0.01}});
  trial.train.set("schedule.decay", "constant");
  const test::TempDir gpu, host;
  run_to_end(trial, gpu.path(), 2);
  trial.train.set("device", "reference");
  run_to_end(trial, host.path(), 1);
  const auto here = curve({gpu.path()}), there = curve({host.path()});
  ASSERT_EQ(here.size(), there.size());
  for (std::size_t i = 0; i < here.size(); ++i) {
    const auto value = [](const std::string& line) {
      return std::stod(line.substr(line.rfind(' ')));
    };
    if (here[i].starts_with("val/loss")) {
      EXPECT_NEAR(value(here[i]), value(there[i]), 1e-3 * std::abs(value(there[i]))) << here[i];
    }
  }
}

/// How every rank ends where none sees a GPU.
std::vector<RankEnd> without_gpu(Trial trial, int ranks) {
  const test::TempDir folder;
  const StopFlag stop;
  setenv("THALWEG_GPU", "none", 1);
  std::vector<RankEnd> ends = run_ranks(trial, folder.path(), ranks, stop);
  unsetenv("THALWEG_GPU");
  return ends;
}

TEST_F(GpuAttempt, AGpuThatNobodyAskedForIsBadInput) {
  for (const RankEnd& end : without_gpu(on_gpu(), 2)) {
    ASSERT_TRUE(end.threw);
    EXPECT_EQ(end.failure.code, ExitCode::bad_input);
    EXPECT_THAT(end.failure.reason, HasSubstr("THALWEG_GPU is 'none'"));
    EXPECT_THAT(end.failure.reason, HasSubstr("or device to cpu"));
  }
}

TEST_F(GpuAttempt, AGpuThatWasAskedForAndIsNotThereIsAFailureOfItsNode) {
  Trial trial = on_gpu();
  trial.resources.gpus_per_node = 1;
  for (const RankEnd& end : without_gpu(trial, 1)) {
    ASSERT_TRUE(end.threw);
    EXPECT_EQ(end.failure.code, ExitCode::failed);
    EXPECT_FALSE(end.failure.node.empty());
    EXPECT_THAT(end.failure.reason, HasSubstr("resources.gpus_per_node asks for some"));
  }
}

TEST_F(GpuAttempt, AutoLeavesTheGpuAloneAndSaysWhy) {
  if (cuda_seen_on_gpu) GTEST_SKIP() << "auto takes GPUs";
  Trial trial = on_gpu();
  trial.train.set("device", "auto");
  const test::TempDir folder;
  const StopFlag stop;
  const std::vector<RankEnd> ends = run_ranks(trial, folder.path(), 1, stop);
  ASSERT_FALSE(ends[0].threw) << ends[0].failure.reason;
  const std::string journal = test::read_file(folder.path() / "journal.jsonl");
  EXPECT_THAT(journal, HasSubstr("device auto is cpu, since cuda is experimental: not yet run on a "
                                 "GPU; the GPU of this machine is left alone"));
  EXPECT_THAT(journal, Not(HasSubstr("computes on GPU")));
}

TEST_F(GpuAttempt, AutoIsRefusedWhereGpusAreAskedFor) {
  if (cuda_seen_on_gpu) GTEST_SKIP() << "auto takes GPUs";
  Trial trial = on_gpu();
  trial.resources.gpus_per_node = 1;
  trial.train.set("device", "auto");
  const test::TempDir folder;
  const StopFlag stop;
  const std::vector<RankEnd> ends = run_ranks(trial, folder.path(), 1, stop);
  ASSERT_TRUE(ends[0].threw);
  EXPECT_EQ(ends[0].failure.code, ExitCode::bad_input);
  EXPECT_THAT(ends[0].failure.reason, HasSubstr("set device to cuda, or ask for none"));
}

TEST_F(GpuAttempt, CheckSaysThatTheGpuAskedForIsNotHere) {
  Trial trial = on_gpu();
  trial.resources.gpus_per_node = 1;
  const test::TempDir folder;
  jobspec::write_trial(trial, folder.path() / "trial.yaml");
  setenv("THALWEG_GPU", "none", 1);
  std::string refusal;
  try {
    check_trial(folder.path() / "trial.yaml");
  } catch (const std::invalid_argument& error) {
    refusal = error.what();
  }
  unsetenv("THALWEG_GPU");
  EXPECT_THAT(refusal, HasSubstr("device: cuda: THALWEG_GPU is 'none'"));
}

TEST_F(GpuAttempt, RefusesBatchNormOverShards) {
  Trial trial = on_gpu();
  trial.train.set("model.sync_batch_norm", true);
  const test::TempDir folder;
  const StopFlag stop;
  const std::vector<RankEnd> ends = run_ranks(trial, folder.path(), 1, stop);
  ASSERT_TRUE(ends[0].threw);
  EXPECT_THAT(ends[0].failure.reason, HasSubstr("sync"));
}

}  // namespace
}  // namespace thalweg::engine
