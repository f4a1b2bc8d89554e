// What a configuration would be as a run, and what is wrong with it, without training: everything
// is built up to the memory plan, nothing is allocated. --check loads the data for it, --describe
// reads their headers alone.
#pragma once

#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/data/header.h"
#include "engine/device/memory_needs.h"
#include "engine/gpu/planned.h"
#include "engine/nn/flops.h"
#include "engine/train/metrics.h"
#include "engine/train/options.h"
#include "jobspec/diagnostic.h"
#include "jobspec/schema.h"
#include "jobspec/trial.h"

namespace thalweg::engine {

/// One mistake of a configuration.
struct CheckError {
  std::string key;  ///< in `train`, as "model.layers[1].probability"; empty: train itself
  std::string message;
  std::string hint{};
  bool missing_file = false;    ///< of the data, as this machine sees it
  std::exception_ptr thrown{};  ///< what set-up threw
};

/// `section` where what was thrown does not say its key; `config`: the whole tree.
CheckError error_of(const jobspec::Schema& schema, const std::exception_ptr& thrown,
                    const std::string& section, const jobspec::Value& config);

struct CheckReport {
  std::vector<CheckError> errors;
  std::vector<std::string> notes;
  // What is known where errors let it be known.
  std::string what;  ///< "lenet on fashion-mnist, device cpu"
  std::int64_t parameters = 0;
  Flops flops;                         ///< for one sample
  std::shared_ptr<const Graph> graph;  ///< null: not known
  std::size_t sample_bytes = 0;        ///< of a sample, its labels and targets in a batch
  std::vector<Unseen> unseen;          ///< what only the data's contents tell
  std::size_t training = 0, validation = 0, test = 0;  ///< samples
  int global_batch = 0, shards = 0, micro_batches = 1, ranks = 1, executors = 1;
  int min_ranks = 1;  ///< that an attempt of an elastic trial has: a rank takes most there
  RunLength length;
  std::string schedule, rate_note, shards_note;
  std::vector<MetricInfo> metrics;
  std::optional<MetricInfo> default_metric;
  std::size_t data_bytes = 0;        ///< of the host, a rank: samples that are not mapped
  std::optional<MemoryNeeds> needs;  ///< of the device, a rank
  bool on_gpu = false;               ///< where `needs` are
  std::string gpu_lines;             ///< what is to be said of the GPU's memory and kernels

  /// Of the host's memory, a rank, in bytes; 0 = not known.
  std::size_t host_bytes() const;
  /// A line for each of these.
  std::string text() const;
  /// A line for each layer: name, kind, shape of a sample, parameters and FLOPs.
  std::string layer_text() const;
  /// All of it but errors and notes.
  jobspec::Map to_json() const;
  jobspec::List layer_json() const;
};

struct CheckOptions {
  /// The runs will be on other machines: what this one lacks (files, GPUs, arithmetic) is noted.
  bool elsewhere = false;
  bool contents = true;  ///< load the data; else their headers tell what they can
  /// Of one GPU of those machines: models for GPUs are planned for it. 0: not known.
  std::size_t gpu_memory = 0;
};

/// A configuration; the references must outlive the check.
struct CheckSubject {
  const jobspec::Value& train;  ///< need not be complete
  const jobspec::Resources& resources;
  std::string file;                         ///< for messages
  std::optional<jobspec::Metric> metric{};  ///< of the sweep, where it is given
  int sweep_ranks = 0;      ///< the most ranks that one of its trials has; 0 = not known
  bool plan_memory = true;  ///< compile the model, which may take a while
  /// What init_from.trial stands for; empty: not known here.
  std::vector<std::filesystem::path> init_from{};
};

/// Keeps data, models and what init_from leads to between configurations that share them. Not
/// thread-safe.
class Checker {
 public:
  explicit Checker(CheckOptions options = {});
  ~Checker();
  /// Throws nothing that is the configuration's fault.
  CheckReport check(const CheckSubject& subject);

 private:
  struct Data;
  struct Compiled;
  struct Begun;
  class Visit;

  CheckOptions options_;
  jobspec::Schema schema_;
  std::optional<gpu::PlannedGpu> planned_gpu_;
  std::map<std::string, std::shared_ptr<const Data>> data_;
  std::map<std::string, std::shared_ptr<const Compiled>> compiled_;
  std::map<std::string, std::shared_ptr<const Begun>> begun_;
};

/// What `--check` prints about a trial. Throws as set-up does.
std::string check_trial(const std::filesystem::path& trial_file);

}  // namespace thalweg::engine
