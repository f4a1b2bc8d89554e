// Names of the files of a checkpoint, which the engine writes and the controller prunes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

namespace thalweg {

/// step-000000001287.ckpt
std::filesystem::path checkpoint_name(std::int64_t step);
/// One rank's part: step-000000001287.rank-0003-of-0008.ckpt
std::filesystem::path slice_name(std::int64_t step, int rank, int ranks);

struct CheckpointFile {
  std::int64_t step = 0;
  bool slice = false;  ///< one rank's part, nothing without the checkpoint itself
};
/// Of a name without a folder; nothing: it is no checkpoint.
std::optional<CheckpointFile> parse_checkpoint_name(std::string_view name);

}  // namespace thalweg
