// What the rules of advice know: a sweep, what its configurations would be as runs, and what was
// measured in earlier ones. Numbers of 0 and empty things are not known.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jobspec/trial.h"
#include "jobspec/value.h"

namespace thalweg::jobspec {
struct Sweep;
}

namespace thalweg::jobspec::advise {

/// Bytes of the device's memory, a rank.
struct RankMemory {
  double parameters = 0, gradients = 0, optimizer = 0, weights = 0, activations = 0, workspace = 0,
         staging = 0;
  double total() const {
    return parameters + gradients + optimizer + weights + activations + workspace + staging;
  }
};

/// What a trial measured, by its newest points.
struct PastRun {
  std::string trial;  ///< "12.3"
  std::string model, data;
  double parameters = 0;                      ///< of the model
  std::string device;                         ///< "cpu" or "cuda"
  std::string precision, augmentation, mode;  ///< `augment` as canonical JSON, sync.mode
  int threads = 0;                            ///< of a rank
  int nodes = 1, ranks = 1;
  double batch = 0;                                    ///< global
  double samples_per_s = 0;                            ///< of all ranks together
  double compute_ms = 0, exposed_ms = 0, data_ms = 0;  ///< a step, of rank 0
  double noise_scale = 0;        ///< B_simple, of the run's later half; 0: none, or never settled
  bool noise_unsettled = false;  ///< it was measured, and the run was too short
  double checkpoint_s = 0;       ///< of one checkpoint
  std::vector<std::string> transport;

  bool operator==(const PastRun&) const = default;
  static void each_field(auto& e, auto&& field) {
    field("trial", e.trial);
    field("model", e.model);
    field("data", e.data);
    field("parameters", e.parameters);
    field("device", e.device);
    field("precision", e.precision);
    field("augmentation", e.augmentation);
    field("mode", e.mode);
    field("threads", e.threads);
    field("nodes", e.nodes);
    field("ranks", e.ranks);
    field("batch", e.batch);
    field("samples_per_s", e.samples_per_s);
    field("compute_ms", e.compute_ms);
    field("exposed_ms", e.exposed_ms);
    field("data_ms", e.data_ms);
    field("noise_scale", e.noise_scale);
    field("noise_unsettled", e.noise_unsettled);
    field("checkpoint_s", e.checkpoint_s);
    field("transport", e.transport);
  }
};

/// Trials that differ by nothing that a rule looks at.
struct Configuration {
  std::vector<std::int64_t> trials;  ///< numbers, ascending
  Value train;                       ///< every default filled in; `auto` stays
  Resources resources;
  // As the engine plans it (thalweg-train --describe).
  double parameters = 0, training_flops = 0;  ///< FLOPs: forward and backward of one sample
  double samples = 0;                         ///< to train on, in an epoch
  double sample_bytes = 0;
  double batch = 0;  ///< global
  int ranks = 1;
  double steps = 0, steps_per_epoch = 0;
  std::optional<RankMemory> memory;
  bool on_gpu = false;  ///< where `memory` is

  /// Ranks that make gradients: not those of sync.servers. At least 1.
  int workers() const;
  double local_batch() const { return batch / workers(); }
  std::string device() const { return on_gpu ? "cuda" : "cpu"; }
  /// The same model (by name and size) on the same data, on whatever device.
  bool is_like(const PastRun& run) const;
  /// Also the same gradients of a sample: precision and augmentation.
  bool learns_like(const PastRun& run) const;
  /// Also the same speed of a step of as many samples on as many ranks: device, threads and mode.
  /// What a record does not tell counts as the same.
  bool runs_like(const PastRun& run) const;
  /// Empty, or 0, where the tree has no such key or another type.
  std::string text(const char* key) const;
  double number(const char* key) const;
};

/// Time in the queue of jobs with so many nodes.
struct QueueWait {
  int nodes = 1;
  std::int64_t jobs = 0;
  double median_s = 0;

  bool operator==(const QueueWait&) const = default;
  static void each_field(auto& e, auto&& field) {
    field("nodes", e.nodes);
    field("jobs", e.jobs);
    field("median_s", e.median_s);
  }
};

struct Experience {
  std::vector<PastRun> runs;     ///< of the same models and data, newest first
  std::vector<QueueWait> waits;  ///< of every sweep, by ascending nodes
  double node_seconds = 0;       ///< of every attempt that ran
  std::int64_t lost_nodes = 0;   ///< attempts that ended because a node or rank was lost
  double node_memory_gib = 0;    ///< the least of the nodes that attempts ran on

  bool operator==(const Experience&) const = default;
  static void each_field(auto& e, auto&& field) {
    field("runs", e.runs);
    field("waits", e.waits);
    field("node_seconds", e.node_seconds);
    field("lost_nodes", e.lost_nodes);
    field("node_memory_gib", e.node_memory_gib);
  }
};

/// Of the machines that the trials will run on.
struct Machines {
  double node_bytes = 0, gpu_bytes = 0;
  double link_bytes_per_s = 0;  ///< of a node's network link
  int max_nodes_per_job = 64;
  bool slurm = false;
};

struct Study {
  const Sweep& sweep;
  std::vector<Configuration> configurations;
  Experience experience{};
  Machines machines{};
};

}  // namespace thalweg::jobspec::advise
