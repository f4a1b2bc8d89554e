// The gradient noise scale of a dataset at given weights, from the gradient of every sample.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/data/augment.h"
#include "engine/data/dataset.h"
#include "engine/nn/model.h"
#include "engine/sync/executor_pool.h"

namespace thalweg::engine {

/// With g_i the mean gradients of all batches of b samples (b = 1 where the model allows it):
/// |G|^2 is that of their mean, tr(Sigma) = b (mean |g_i|^2 - |G|^2).
struct ExactNoise {
  std::int64_t samples = 0;  ///< that were looked at
  int batch = 1;             ///< b
  double trace = 0;
  double squared_norm = 0;

  double b_simple() const { return trace / squared_norm; }
};

struct ExactNoiseInput {
  const Dataset& dataset;
  const std::vector<std::uint32_t>& samples;
  const Augmenter* augmenter = nullptr;  ///< null: samples as they are
  std::uint64_t seed = 1;                ///< keys augmentation and dropout
  const Model& model;                    ///< compiled for `batch` samples
  const float* parameters = nullptr;
  int batch = 1;
};

/// What does not fill a batch at the end is left out. The bits do not depend on the number of
/// executors. Throws std::invalid_argument where there is no whole batch.
ExactNoise exact_noise(const ExactNoiseInput& in, ExecutorPool& executors);

/// What `--noise` prints about a trial: at its newest checkpoint, or where there is none at its
/// initial weights. Throws as set-up does.
std::string noise_of_trial(const std::filesystem::path& trial_file, bool as_json);

}  // namespace thalweg::engine
