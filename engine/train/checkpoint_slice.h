// Checkpoints as sets of files: what each rank alone has, it writes itself (format: checkpoint.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "engine/train/checkpoint.h"

namespace thalweg::engine {

/// Neighbours among the parameters in the plain layout.
struct PlainRun {
  std::int64_t begin = 0;
  std::int64_t count = 0;
};

struct CheckpointSlice {
  std::int64_t step = 0;
  int rank = 0;
  int ranks = 1;
  std::vector<PlainRun> runs;              ///< parameters whose states are here, ascending
  std::vector<std::vector<float>> states;  ///< of the optimizer: numbers of all runs in turn
  std::vector<CheckpointPart> parts;       ///< one vector each
};

/// In the folder of the checkpoint, before the checkpoint itself. Appears whole or not at all.
/// Throws std::system_error.
FileSeal write_slice(const std::filesystem::path& folder, const CheckpointSlice& slice);

/// Puts what the slices hold to its place in `checkpoint`, which was read from `file` and says
/// which slices and what of it they hold; says nothing of them afterwards. Throws BadCheckpoint,
/// which names the slice that is missing or damaged.
void take_slices(Checkpoint& checkpoint, const std::filesystem::path& file);

}  // namespace thalweg::engine
