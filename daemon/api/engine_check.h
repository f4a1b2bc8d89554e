// The engine's own check of a sweep file: `thalweg-train --describe` and `--check`, each in a
// process of its own.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jobspec/diagnostic.h"
#include "jobspec/fwd.h"
#include "jobspec/trial.h"

namespace thalweg::daemon::api {

struct CheckRequest {
  std::filesystem::path program;  ///< thalweg-train
  std::string text;               ///< of the sweep file, which jobspec has found nothing wrong with
  std::string file_name;          ///< for messages
  std::string directory{};        ///< that relative paths count from; empty: the temporary one
  std::vector<std::string> environment;  ///< NAME=VALUE, the whole of it; empty: ours
  bool elsewhere = false;                ///< the trials will not run on this machine
  std::int64_t gpu_memory_mib = 0;       ///< jobspec::SiteLimits
  int max_nodes = 64;                    ///< jobspec::SiteLimits
  double seconds = 10;                   ///< after which no other shape of trials is begun
  double grace_s = 50;  ///< for all else: start, expansion, a shape begun just before
};

/// What the engine plans for trials of one shape; zeros are not known. Bytes of the device's memory
/// are those of a rank.
struct PlannedShape {
  std::vector<std::pair<std::int64_t, std::int64_t>> trials;  ///< ranges of numbers, ascending
  double parameters = 0;
  double training_flops = 0;  ///< forward and backward of one sample
  double training_samples = 0, sample_bytes = 0;
  double batch = 0, steps = 0, steps_per_epoch = 0;
  int ranks = 1;
  bool on_gpu = false;
  std::map<std::string, double> memory;  ///< kind -> bytes; empty: not known
};

struct EngineCheck {
  /// Why there is no answer (the engine crashed, hung, is too old), in one sentence; empty: there
  /// is one. Then nothing else is set.
  std::string failure;
  std::vector<jobspec::Diagnostic> mistakes;
  std::vector<std::string> notes;
  std::int64_t shapes = 0;           ///< distinct ones of the trials
  std::int64_t checked = 0;          ///< of these; fewer where time ran out
  std::vector<std::string> metrics;  ///< that every trial reports
  /// Name and goal that the sweep is ranked by: what the file says, else what fits; none where
  /// nothing could be checked.
  std::optional<jobspec::Metric> metric;
  std::vector<PlannedShape> planned;  ///< of those that were looked at, as --describe has them
};

/// --describe of every shape, and where nothing is wrong --check of as many as `seconds` allow,
/// whose data are loaded. Blocks up to `seconds` + `grace_s` for each, then kills the process.
/// Throws nothing of the engine's making.
EngineCheck check_sweep(const CheckRequest& request);

/// --describe alone: what it plans, and no data are read.
EngineCheck describe_sweep(const CheckRequest& request);

/// Puts the answer into the sweep: notes, and the metric where the file names none. Throws
/// jobspec::InputError with the mistakes.
void apply_check(const EngineCheck& check, jobspec::Sweep& sweep);

/// {shapes, checked, metrics, failure}: what an API answer and --json say of it.
nlohmann::json check_json(const EngineCheck& check);

}  // namespace thalweg::daemon::api
