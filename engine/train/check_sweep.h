// --check and --describe of a whole sweep file: once for each distinct shape of its trials.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/train/check.h"

namespace thalweg::engine {

struct SweepCheckOptions {
  std::filesystem::path file;
  std::string name{};               ///< of the sweep file in messages; empty: `file`
  std::string directory{};          ///< that relative paths count from; empty: the file's own
  bool is_sweep = false;            ///< else the file's keys tell
  int max_nodes = 64;               ///< a job's, for sweeps that are clamped
  std::int64_t trial = 0;           ///< check this one only; 0 = all
  bool elsewhere = false;           ///< CheckOptions::elsewhere
  bool contents = true;             ///< CheckOptions::contents
  bool plan_memory = true;          ///< compile models, half of the time at most
  std::int64_t gpu_memory_mib = 0;  ///< CheckOptions::gpu_memory
  double seconds = 10;              ///< no other shape is begun after that
};

/// Trials that differ only in seeds and in numbers without influence on sizes.
struct CheckedShape {
  std::vector<std::int64_t> trials;  ///< numbers of all that have it, ascending
  bool checked = false;              ///< else time ran out
  CheckReport report{};
};

/// A mistake of some trials, with its place in the file.
struct PlacedError {
  jobspec::Diagnostic diagnostic{};
  std::vector<std::int64_t> trials;  ///< numbers of those that have it, ascending
  bool at_least = false;             ///< not every trial was looked at
  bool missing_file = false;
};

struct SweepCheck {
  std::string name;  ///< of the file
  std::int64_t trials = 0;
  std::vector<CheckedShape> shapes;
  std::vector<PlacedError> errors;
  std::vector<std::string> notes;
  std::vector<std::string> metrics;  ///< that every checked trial reports
  /// What the sweep is ranked by, and how: what the file says, else what fits. The name is empty
  /// where neither is known.
  std::string metric;
  bool maximize = false;

  bool ok() const { return errors.empty(); }
  std::int64_t checked() const;  ///< shapes
  std::string text() const;
  std::string to_json() const;
};

/// Whether the file is a sweep file rather than a trial. Throws where it cannot be read.
bool is_sweep_file(const std::filesystem::path& file);

/// Without `contents` every shape is gone through before memory is planned for any. Throws
/// jobspec::InputError where the file's keys are wrong: that comes first.
SweepCheck check_sweep(const SweepCheckOptions& options);

}  // namespace thalweg::engine
