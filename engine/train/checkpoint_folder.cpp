// Folders of checkpoints: names, the newest valid one, the best one, and what goes. A slice is
// nothing without the main file of its step.
#include <algorithm>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "base/file.h"
#include "engine/train/checkpoint.h"

namespace thalweg::engine {
namespace {

struct FileName {
  std::optional<CheckpointFile> file;
  bool aside = false;  ///< not complete
};

FileName name_of(const std::filesystem::path& file) {
  const bool aside = file.extension() == AtomicFile::kEnding;
  return {parse_checkpoint_name((aside ? file.stem() : file.filename()).string()), aside};
}

/// (step, file), most steps first; equal steps stay in the order of the folders.
std::vector<std::pair<std::int64_t, std::filesystem::path>> list_checkpoints(
    const std::vector<std::filesystem::path>& folders) {
  std::vector<std::pair<std::int64_t, std::filesystem::path>> files;
  for (const std::filesystem::path& folder : folders) {
    std::error_code missing;
    for (const auto& entry : std::filesystem::directory_iterator(folder, missing))
      if (const FileName name = name_of(entry.path());
          name.file && !name.file->slice && !name.aside)
        files.emplace_back(name.file->step, entry.path());
  }
  std::stable_sort(files.begin(), files.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  return files;
}

}  // namespace

FoundCheckpoint newest_checkpoint(const std::vector<std::filesystem::path>& folders) {
  FoundCheckpoint found;
  for (const auto& [step, file] : list_checkpoints(folders)) {
    try {
      found.checkpoint = read_checkpoint(file);
      found.file = file;
      return found;
    } catch (const std::exception& e) {
      found.rejected.emplace_back(e.what());
    }
  }
  return found;
}

FoundCheckpoint best_checkpoint(const std::vector<std::filesystem::path>& folders) {
  FoundCheckpoint newest = newest_checkpoint(folders);
  const std::string where = folders.empty() ? "no folder" : folders.front().string();
  if (!newest.checkpoint) throw std::invalid_argument("there is no checkpoint in " + where);
  if (newest.checkpoint->best.size() != 2)
    throw std::invalid_argument("none of the checkpoints in " + where +
                                " is known to be the best (checkpoint.best: true keeps it)");
  const auto step = static_cast<std::int64_t>(newest.checkpoint->best[1]);
  if (step == newest.checkpoint->step) return newest;
  const std::filesystem::path name = checkpoint_name(step);
  for (const std::filesystem::path& folder : folders) {
    std::error_code missing;
    if (std::filesystem::exists(folder / name, missing))
      return {read_checkpoint(folder / name), folder / name, {}};
  }
  throw std::invalid_argument("the best checkpoint, " + name.string() + ", is no longer in " +
                              where);
}

void prune_checkpoints(const std::filesystem::path& folder, int keep,
                       std::optional<std::int64_t> best) {
  const auto files = list_checkpoints({folder});
  const std::int64_t newest = files.empty() ? -1 : files.front().first;
  std::error_code ignored;  // what cannot be removed now goes next time
  std::set<std::int64_t> kept;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto& [step, file] = files[i];
    if (i < static_cast<std::size_t>(keep) || step == best)
      kept.insert(step);
    else
      std::filesystem::remove(file, ignored);
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const FileName name = name_of(entry.path());
    if (!name.file) continue;
    const bool left_over = name.aside || (name.file->slice && !kept.contains(name.file->step));
    if (left_over && name.file->step <= newest) std::filesystem::remove(entry.path(), ignored);
  }
}

}  // namespace thalweg::engine
