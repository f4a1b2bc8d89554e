// What a configuration would be as a run, and what is wrong with it, without training: everything
// is built up to the memory plan, nothing is allocated.
#pragma once

#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/memory_needs.h"
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

struct CheckReport {
  std::vector<CheckError> errors;
  std::vector<std::string> notes;
  // What is known where errors let it be known.
  std::string what;  ///< "lenet on fashion-mnist, device cpu"
  std::int64_t parameters = 0;
  std::size_t training = 0, validation = 0, test = 0;  ///< samples
  int global_batch = 0, shards = 0, micro_batches = 1, ranks = 1, lanes = 1;
  RunLength length;
  std::string schedule, rate_note, shards_note;
  std::vector<MetricInfo> metrics;
  std::optional<MetricInfo> default_metric;
  std::size_t data_bytes = 0;        ///< of the host, a rank: samples
  std::optional<MemoryNeeds> needs;  ///< of the device, a rank
  bool on_gpu = false;               ///< where `needs` are
  std::string gpu_lines;             ///< what is to be said of the GPU's memory and kernels

  /// Of the host's memory, a rank, in bytes; 0 = not known.
  std::size_t host_bytes() const;
  /// A line for each of these.
  std::string text() const;
};

struct CheckOptions {
  /// The runs will be on other machines: what this one lacks (files, GPUs, arithmetic) is noted.
  bool elsewhere = false;
  std::optional<jobspec::Metric> metric{};  ///< of the sweep, where it is given
  int sweep_ranks = 0;  ///< the most ranks that one of its trials has; 0 = not known
  /// What init_from.trial stands for; empty: not known here.
  std::vector<std::filesystem::path> init_from{};
};

/// Keeps data and models between configurations that share them. Not thread-safe.
class Checker {
 public:
  explicit Checker(CheckOptions options = {});
  ~Checker();
  /// `train` need not be complete; `file` is for messages. `plan_memory`: compile the model, which
  /// may take seconds. Throws nothing that is the configuration's fault.
  CheckReport check(const jobspec::Value& train, const jobspec::Resources& resources,
                    const std::string& file, bool plan_memory = true);

 private:
  struct Data;
  struct Compiled;
  class Visit;

  CheckOptions options_;
  jobspec::Schema schema_;
  std::map<std::string, std::shared_ptr<const Data>> data_;
  std::map<std::string, std::shared_ptr<const Compiled>> compiled_;
};

/// What `--check` prints about a trial. Throws as set-up does.
std::string check_trial(const std::filesystem::path& trial_file);

}  // namespace thalweg::engine
