// Folders of attempts as a whole: how large they are, and which checkpoints in them go. As in
// base/tree.h no symbolic link is followed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "jobspec/keep.h"

namespace thalweg::daemon {

struct TreeSize {
  std::int64_t bytes = 0;  ///< taken on disk
  std::int64_t files = 0;
  std::int64_t checkpoints = 0;  ///< bytes of them below a folder `checkpoints`

  TreeSize& operator+=(const TreeSize& other);
};

/// Of what can be read; nothing of a folder that is not there.
/// What lies more than 100 folders deep is not counted.
TreeSize tree_size(const std::filesystem::path& folder);

using jobspec::KeepCheckpoints;

/// Removes checkpoints of a trial that has ended, given its attempts' folders, newest first. Stay:
/// everything (all), the newest `count` (last), that of the best validation where the journals name
/// one (last and best; for `best` else the newest), or none; each with the files that ranks wrote
/// of it.
struct Pruning {
  std::int64_t freed_bytes = 0;
  std::string problem;  ///< why something is still there that should be gone; empty: nothing is
};
Pruning prune_checkpoints(const std::vector<std::filesystem::path>& attempts, KeepCheckpoints keep,
                          std::int64_t count);

}  // namespace thalweg::daemon
