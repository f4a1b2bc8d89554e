// A trial as one JSON object: what it ran with and what it reported, so that it can be trained
// again and compared bit by bit, also where there is no record of it (`export --format capsule`,
// `thalweg reproduce`). The handbook's page on writing it up describes the keys.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/exports.h"

namespace thalweg::cli {

/// In JSON a list of the two: [step, value].
struct CapsulePoint {
  std::int64_t step = 0;
  double value = 0;
};

/// One array of a model: shape as PyTorch's, and a hash of its bytes (base/hash.h).
struct ArrayHash {
  std::string name;
  std::vector<std::int64_t> shape;
  std::string hash;

  static void each_field(auto& self, auto&& field) {
    field("name", self.name);
    field("shape", self.shape);
    field("hash", self.hash);
  }
  friend bool operator==(const ArrayHash&, const ArrayHash&) = default;
};

struct WeightsHash {
  std::int64_t step = 0;
  std::vector<ArrayHash> arrays;  ///< in the order of the layers

  static void each_field(auto& self, auto&& field) {
    field("step", self.step);
    field("arrays", self.arrays);
  }
};

struct Capsule {
  static constexpr int kFormat = 1;

  int capsule = kFormat;
  std::string id, name, state;  ///< "12.3", the sweep's name, "finished"
  std::string sweep_file;       ///< its text
  std::string trial;            ///< trial.yaml, without what belongs to one attempt
  nlohmann::json start;  ///< newest start record: versions, machines, the whole configuration
  std::map<std::string, std::vector<CapsulePoint>> curves;  ///< by metric, without perf/; by step
  std::optional<WeightsHash> weights;                       ///< of the newest checkpoint
  /// Of a trial that `extend` trained longer: the steps at which it had ended before, where it was
  /// evaluated though `eval` does not ask for it.
  std::optional<std::vector<std::int64_t>> earlier_ends;

  std::vector<std::filesystem::path> folders;  ///< of its attempts, newest first; not in the file

  static void each_field(auto& self, auto&& field) {
    field("capsule", self.capsule);
    field("id", self.id);
    field("name", self.name);
    field("state", self.state);
    field("sweep_file", self.sweep_file);
    field("trial", self.trial);
    field("start", self.start);
    field("curves", self.curves);
    field("weights", self.weights);
    field("earlier_ends", self.earlier_ends);
  }
};

/// What the record says of a trial, without weights. Throws CommandError with the reason and the
/// remedy where it cannot be reproduced bit by bit: a program of the user's own, an imported run,
/// asynchronous updates, nothing reported.
Capsule capsule_of(Context& context, const SweepExport& from,
                   const daemon::api::TrialMessage& trial,
                   const std::vector<ExportedCurve>& curves);

/// One capsule a line. Throws CommandError with file and line.
std::vector<Capsule> read_capsules(const std::filesystem::path& file);

/// Checkpoints in the folders of attempts: step -> file. Of several with one step, that of the
/// first folder.
std::map<std::int64_t, std::filesystem::path> checkpoints_in(
    const std::vector<std::filesystem::path>& folders);

/// Asks the engine for a checkpoint's weights. `folder` is the attempt's. Throws CommandError where
/// the engine is missing or refuses.
WeightsHash hash_weights(const std::filesystem::path& folder, std::int64_t step,
                         const std::filesystem::path& checkpoint);

}  // namespace thalweg::cli

namespace thalweg::daemon::api {

template <>
struct JsonOf<cli::CapsulePoint> {
  static nlohmann::json write(const cli::CapsulePoint& p) {
    return {p.step, fields::number(p.value)};
  }
  static void read(const nlohmann::json& from, cli::CapsulePoint& p) {
    p = {from.at(0).get<std::int64_t>(), fields::number_from(from.at(1))};
  }
};

}  // namespace thalweg::daemon::api
