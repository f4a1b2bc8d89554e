// What --check tells of a GPU's memory, and runs that do not fit it: on the emulated GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <utility>

#include "engine/train/check.h"
#include "tests/engine/train/support.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

using jobspec::List;
using jobspec::Map;
using jobspec::Trial;
using testing::HasSubstr;

/// Of this process, as long as it lives.
class EmulatedGpu {
 public:
  explicit EmulatedGpu(const std::string& bytes) {
    setenv("THALWEG_GPU", "emulated", 1);
    setenv("THALWEG_GPU_MEMORY", bytes.c_str(), 1);
  }
  ~EmulatedGpu() {
    unsetenv("THALWEG_GPU");
    unsetenv("THALWEG_GPU_MEMORY");
  }
};

/// Ten layers of 2 MiB each, most of which backward needs.
Trial deep_trial() {
  Trial trial = tiny_trial();
  trial.train =
      Map{{"model", Map{{"name", "mlp"}, {"hidden", List{64, 64, 64, 64, 64, 64, 64, 64, 64, 64}}}},
          {"data", Map{{"name", "synthetic"}, {"samples", 9000}, {"validation", 48}}},
          {"batch", Map{{"global", 8192}, {"shards", 1}}},
          {"steps", 1},
          {"optimizer", Map{{"name", "adamw"}, {"lr", 0.01}}},
          {"device", "cuda"}};
  return trial;
}

std::string check(const Trial& trial) {
  const test::TempDir folder;
  jobspec::write_trial(trial, folder.path() / "trial.yaml");
  return check_trial(folder.path() / "trial.yaml");
}

std::string refusal_of(const Trial& trial) {
  try {
    return check(trial) + " was not refused";
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
}

CheckReport planned(const Trial& trial, std::size_t bytes) {
  return Checker({true, false, bytes}).check({trial.train, trial.resources, "sweep.yaml"});
}

/// A login node that knows how much its site's GPUs have plans what a machine with one does.
TEST(GpuMemory, IsPlannedWhereThereIsNoGpu) {
  for (const char* model : {"mlp", "lenet"}) {
    Trial trial = deep_trial();
    if (model == std::string("lenet")) {
      trial.train.set("model", Map{{"name", "lenet"}});
      trial.train.set("data",
                      Map{{"name", "synthetic"}, {"shape", List{1, 28, 28}}, {"samples", 600}});
      trial.train.set("batch.global", 64);
    }
    const CheckReport here = planned(trial, 80u << 20);
    ASSERT_TRUE(here.errors.empty()) << here.errors[0].message;
    ASSERT_TRUE(here.needs);
    EXPECT_TRUE(here.on_gpu);
    EXPECT_THAT(here.gpu_lines, HasSubstr("of each of the compute nodes' GPUs"));
    const EmulatedGpu gpu("1000000000");
    const CheckReport there =
        Checker({false, false}).check({trial.train, trial.resources, "sweep.yaml"});
    ASSERT_TRUE(there.errors.empty()) << there.errors[0].message;
    EXPECT_EQ(here.needs->parameters, there.needs->parameters) << model;
    EXPECT_EQ(here.needs->optimizer, there.needs->optimizer) << model;
    EXPECT_EQ(here.needs->gradients, there.needs->gradients) << model;
    // Workspaces of calls lie between them, so that they are packed in another way.
    const auto activations = static_cast<double>(there.needs->activations);
    EXPECT_NEAR(static_cast<double>(here.needs->activations), activations, 0.1 * activations)
        << model;
    EXPECT_EQ(here.needs->workspace, 0u);
  }
  const CheckReport small = planned(deep_trial(), 24'000'000);
  ASSERT_EQ(small.errors.size(), 1u);
  EXPECT_EQ(small.errors[0].key, "batch");
  EXPECT_THAT(small.errors[0].message, HasSubstr("does not fit the compute nodes' GPUs"));
  const CheckReport unknown = planned(deep_trial(), 0);
  EXPECT_TRUE(unknown.errors.empty());
  EXPECT_FALSE(unknown.needs);
  EXPECT_THAT(unknown.notes, testing::Contains(HasSubstr("gpu_memory in config.yaml")));
}

TEST(GpuMemory, IsToldByCheck) {
  const EmulatedGpu gpu("1000000000");
  const std::string text = check(deep_trial());
  EXPECT_THAT(text, HasSubstr("GPU memory"));
  EXPECT_THAT(text, HasSubstr("activations"));
  EXPECT_THAT(text, HasSubstr("free on emulated GPU"));
}

TEST(GpuMemory, IsThatOfOneLaneHoweverManyThreadsThereAre) {
  const EmulatedGpu gpu("1000000000");
  Trial trial = deep_trial();
  trial.train.set("batch.shards", 4);
  trial.resources.threads_per_rank = 3;
  EXPECT_THAT(check(trial), HasSubstr("1 thread each"));
}

TEST(GpuMemory, IsRefusedWithWhatFits) {
  const EmulatedGpu gpu("24000000");
  const std::string text = refusal_of(deep_trial());
  EXPECT_THAT(text, HasSubstr("does not fit emulated GPU"));
  EXPECT_THAT(text, HasSubstr("  activations"));
  EXPECT_THAT(text, HasSubstr("recompute: blocks ("));
  EXPECT_THAT(text, HasSubstr("sync.accumulate: 2 (micro-batches of 4096 samples"));
  EXPECT_THAT(text, HasSubstr("batch.global: "));
}

TEST(GpuMemory, WhatIsAdvisedFits) {
  const EmulatedGpu gpu("24000000");
  for (const auto& [key, value] :
       {std::pair<const char*, jobspec::Value>{"recompute", "blocks"}, {"sync.accumulate", 2}}) {
    Trial trial = deep_trial();
    trial.train.set(key, value);
    EXPECT_THAT(check(trial), HasSubstr("GPU memory")) << key;
  }
}

TEST(GpuMemory, OfARunIsRefusedBeforeItIsTaken) {
  const test::TempDir folder;
  const EmulatedGpu gpu("24000000");
  const StopFlag never;
  const std::vector<RankEnd> ends = run_ranks(deep_trial(), folder.path(), 1, never);
  ASSERT_TRUE(ends[0].threw);
  EXPECT_EQ(ends[0].failure.code, ExitCode::bad_input);
  EXPECT_THAT(ends[0].failure.reason, HasSubstr("does not fit emulated GPU"));
}

TEST(Recompute, IsRefusedByTheCpu) {
  Trial trial = tiny_trial();
  trial.train.set("device", "cpu");
  trial.train.set("recompute", "blocks");
  EXPECT_THAT(refusal_of(trial), HasSubstr("recompute: the cpu device keeps what backward reads"));
}

}  // namespace
}  // namespace thalweg::engine
