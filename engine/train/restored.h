// The model of a trial with the weights of its newest checkpoint, on the host: for --evaluate and
// --export.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/data/split.h"
#include "engine/nn/model.h"
#include "engine/sync/replica.h"
#include "engine/train/factory.h"
#include "jobspec/trial.h"

namespace thalweg::engine {

class Dataset;

/// Of a trial's own folder and those that it goes on from.
struct WhichCheckpoint {
  WhichCheckpoint() = default;  ///< the one with the most steps
  WhichCheckpoint(std::filesystem::path the_file, bool the_best = false)
      : file(std::move(the_file)), best(the_best) {}

  std::filesystem::path file;  ///< this one; empty: see best
  bool best = false;           ///< that of the best validation (checkpoint.best)
};

/// Members are in the order in which they are built; each may use those above it.
struct Restored {
  /// `samples`: how many the model takes at once; 0 = a shard's. Throws as
  /// set-up does, std::invalid_argument where there is none, BadCheckpoint where it is not this
  /// trial's.
  explicit Restored(const std::filesystem::path& trial_file, const WhichCheckpoint& which = {},
                    int samples = 0);
  ~Restored();
  Restored(const Restored&) = delete;
  Restored& operator=(const Restored&) = delete;

  jobspec::Trial trial;
  Factory factory;
  std::unique_ptr<Dataset> dataset;
  Split samples;
  int batch = 1;  ///< samples that the model takes at once
  std::unique_ptr<Model> model;
  std::unique_ptr<Optimizer<float>> optimizer;
  std::unique_ptr<Replica> replica;
  std::filesystem::path file;  ///< the checkpoint
  std::int64_t step = 0;
  std::vector<float> running;  ///< statistics that go with weights()

  /// What validation evaluates (Replica::evaluated), in the device's layout.
  const float* weights() { return replica->evaluated(*optimizer); }
};

/// What `--evaluate` prints: validation's metrics of the checkpoint, and those of the test samples
/// where there are any.
std::string evaluate_trial(const std::filesystem::path& trial_file, const WhichCheckpoint& which,
                           bool as_json);

}  // namespace thalweg::engine
