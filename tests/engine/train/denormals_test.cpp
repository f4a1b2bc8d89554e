// A weight whose input is 0 in all samples but one gets no gradient for hundreds of steps: its
// moments halve until they are too small for a float's full precision.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/threads/denormals.h"
#include "engine/train/checkpoint.h"
#include "tests/engine/train/support.h"
#include "tests/support/npy.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

using jobspec::List;
using jobspec::Map;

jobspec::Trial seldom_used_input(const std::filesystem::path& folder, const char* optimizer) {
  constexpr std::size_t samples = 2400, features = 4;
  std::vector<float> inputs(samples * features);
  std::vector<std::int32_t> labels(samples);
  for (std::size_t i = 0; i < samples; ++i) {
    for (std::size_t k = 0; k + 1 < features; ++k)
      inputs[i * features + k] = static_cast<float>(i * (k + 3) % 17) / 8 - 1;
    labels[i] = static_cast<std::int32_t>(i % 3);
  }
  inputs[features - 1] = 1;
  test::write_file(folder / "x.npy", test::npy_text("<f4", {samples, features}, inputs));
  test::write_file(folder / "y.npy", test::npy_text("<i4", {samples}, labels));
  jobspec::Trial trial = tiny_trial();
  trial.train.set("model", Map{{"name", "mlp"}, {"hidden", List{12}}});
  trial.train.set("data", Map{{"name", "arrays"},
                              {"inputs", (folder / "x.npy").string()},
                              {"labels", (folder / "y.npy").string()}});
  trial.train.set("batch", Map{{"global", 8}});
  trial.train.set("epochs", 2);
  trial.train.set("optimizer", std::string(optimizer) == "adamw"
                                   ? Map{{"name", "adamw"}, {"beta1", 0.5}, {"beta2", 0.5}}
                                   : Map{{"name", optimizer}, {"momentum", 0.5}});
  trial.train.set("checkpoint", Map{{"every", 10}, {"keep", 100}});
  return trial;
}

/// In all checkpoints: denormal numbers of the optimizer's states, and those that are 0.
std::pair<int, int> denormals_and_zeros(const std::filesystem::path& folder) {
  std::pair<int, int> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "checkpoints")) {
    if (entry.path().extension() != ".ckpt") continue;
    for (const auto& state : read_checkpoint(entry.path()).states)
      for (const float value : state) {
        found.first += std::fpclassify(value) == FP_SUBNORMAL;
        found.second += value == 0;
      }
  }
  return found;
}

TEST(Denormals, AreNeverInTheStatesOfATraining) {
  for (const char* device : {"reference", "cpu"})
    for (const char* optimizer : {"momentum", "adamw"}) {
      const test::TempDir folder;
      jobspec::Trial trial = seldom_used_input(folder.path(), optimizer);
      trial.train.set("device", device);
      run_to_end(trial, folder.path(), 2);
      const auto [denormals, zeros] = denormals_and_zeros(folder.path());
      EXPECT_EQ(denormals, 0) << optimizer << " on " << device;
      EXPECT_GT(zeros, 0) << "nothing has decayed";
    }
}

TEST(Denormals, CountAgainWhenTheTrainingIsOver) {
  volatile float small = 1e-39F;
  {
    const FlushDenormals flush;
    EXPECT_EQ(small * 1.0F, 0.0F);
  }
  EXPECT_GT(small * 1.0F, 0.0F);
}

}  // namespace
}  // namespace thalweg::engine
