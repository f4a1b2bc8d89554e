// Checkpoints: everything that a run needs to go on with the same bits (format: checkpoint.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/checkpoint_name.h"
#include "engine/train/weight_names.h"
#include "jobspec/value.h"

namespace thalweg::engine {

/// Numbers that a sync mode remembers: one vector where all ranks have the same, else one for each
/// rank. Either floats or doubles.
struct CheckpointPart {
  std::string name;
  std::vector<std::vector<float>> floats;
  std::vector<std::vector<double>> doubles;
  bool sliced = false;  ///< to be written: it holds nothing, each rank's slice has its vector
};

/// What a file must be to be the one that was written.
struct FileSeal {
  std::int64_t bytes = 0;
  std::uint32_t sum = 0;  ///< its checksum

  friend bool operator==(const FileSeal&, const FileSeal&) = default;
};

struct Checkpoint {
  static constexpr std::uint32_t format = 2;         ///< of one file
  static constexpr std::uint32_t sliced_format = 3;  ///< of a set (checkpoint_slice.h)

  std::int64_t step = 0;  ///< optimizer steps completed
  int shards = 0;
  int micro_batches = 1;     ///< in which each shard was computed
  int ranks = 0;             ///< 0 = not known
  jobspec::Value identity;   ///< what must be the same to go on: see same_run()
  double interval_loss = 0;  ///< sum of the steps' losses since the last report
  std::int64_t interval_steps = 0;
  /// That gradients were computed of up to here, in all attempts; nothing: the run began with an
  /// earlier version, which did not count them.
  std::optional<std::int64_t> samples = 0;
  std::vector<double> noise;      ///< the noise scale's running means
  std::vector<double> growth;     ///< of the batch: BatchGrowth::state()
  std::vector<double> schedule;   ///< what the schedule has learnt from validation
  std::vector<double> stop;       ///< what the stop rule has seen
  std::vector<double> best;       ///< value and step of the best one: Best::state()
  std::vector<float> parameters;  ///< plain layout, as the states
  std::vector<float> running;
  std::vector<WeightName> names;  ///< of both; empty in files of earlier versions
  std::vector<std::vector<float>> states;
  std::vector<float> own;       ///< of the optimizer
  std::vector<double> scalars;  ///< of the optimizer
  std::vector<CheckpointPart> parts;
  /// To be written as a set: those of the slices by rank, which are on the disk, and how many
  /// states they hold in place of `states`. What is read has all in its place, and no slices.
  std::vector<FileSeal> slices;
  int sliced_states = 0;

  /// Parameters and states go; what tells of the run stays.
  void drop_arrays();
};

/// A file is no whole checkpoint; what() is "FILE: reason".
class BadCheckpoint : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Appears under its name whole or not at all. Returns its bytes. Throws std::system_error.
std::int64_t write_checkpoint(const std::filesystem::path& file, const Checkpoint& checkpoint);
/// With its slices, which lie beside it. Throws BadCheckpoint, std::system_error.
Checkpoint read_checkpoint(const std::filesystem::path& file);

/// Of an attempt's folder.
inline constexpr const char* checkpoints_folder = "checkpoints";

struct FoundCheckpoint {
  std::optional<Checkpoint> checkpoint;
  std::filesystem::path file;
  std::vector<std::string> rejected;  ///< why newer files were not taken
};
/// The one with the most steps among all valid ones; the earlier folder where steps are equal.
/// Missing folders are no mistake.
FoundCheckpoint newest_checkpoint(const std::vector<std::filesystem::path>& folders);

/// The one that the newest valid one of `folders` calls the best (checkpoint.best). Throws
/// std::invalid_argument where there is none, BadCheckpoint where it cannot be read.
FoundCheckpoint best_checkpoint(const std::vector<std::filesystem::path>& folders);

/// Removes all but the newest `keep` checkpoints and that of step `best`, their slices with them,
/// and what was given up half-way: slices and new files of no later step than the newest
/// checkpoint's, since ranks may be at the next one.
void prune_checkpoints(const std::filesystem::path& folder, int keep,
                       std::optional<std::int64_t> best = {});

/// What decides the curve, out of a complete `train` tree: everything but where files lie, how
/// often is reported, and how the work is spread.
jobspec::Value run_identity(const jobspec::Value& complete, std::uint64_t seed,
                            std::int64_t total_steps);
/// Throws std::invalid_argument naming the first key that differs.
void require_same_run(const jobspec::Value& checkpoint, const jobspec::Value& now,
                      const std::filesystem::path& file);

}  // namespace thalweg::engine
