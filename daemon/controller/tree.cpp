#include "daemon/controller/tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/checkpoint_name.h"
#include "base/file.h"
#include "base/tree.h"
#include "daemon/controller/journal.h"

namespace thalweg::daemon {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t block_bytes = 512;  // what st_blocks counts in

TreeSize size_at(int at, const std::string& name, bool in_checkpoints, int depth = 0) {
  TreeSize size;
  struct stat status {};
  if (fstatat(at, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return size;
  size.bytes = status.st_blocks * block_bytes;
  if (!S_ISDIR(status.st_mode)) {
    size.files = 1;
    if (in_checkpoints) size.checkpoints = size.bytes;
    return size;
  }
  if (depth == deepest_level) return size;
  if (const auto folder = OpenFolder::open(at, name))
    for (const std::string& each : folder->names())
      size += size_at(folder->fd(), each, in_checkpoints || name == "checkpoints", depth + 1);
  return size;
}

/// Removes files, and remembers the first that it could not.
class Pruner {
 public:
  Pruning result;

  void remove(const OpenFolder& folder, const fs::path& path) {
    const std::string name = path.filename().string();
    struct stat status {};
    if (fstatat(folder.fd(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        unlinkat(folder.fd(), name.c_str(), 0) == 0)
      result.freed_bytes += status.st_blocks * block_bytes;
    else if (errno != ENOENT && result.problem.empty())
      result.problem = cannot_remove(folder.fd(), path, errno);
  }
  /// Null where it is not there, or is closed.
  std::unique_ptr<OpenFolder> open(const fs::path& path) {
    const Descriptor parent(::open(path.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!parent) return nullptr;
    auto folder = OpenFolder::open_to_change(parent.get(), path.filename().string());
    if (!folder && errno == EACCES && result.problem.empty())
      result.problem = cannot_remove(parent.get(), path, errno);
    return folder;
  }
};

/// The step whose checkpoint an attempt's journal last called the best.
std::optional<std::int64_t> best_step(const std::vector<fs::path>& attempts) {
  for (const fs::path& attempt : attempts) {
    std::optional<std::int64_t> best;
    const auto look = [&](std::string_view line) {
      if (line.find("\"checkpoint\"") == std::string::npos ||
          line.find("\"best\"") == std::string::npos)
        return;
      const auto record = nlohmann::json::parse(line, nullptr, false);
      if (record.is_object() && record.value("type", nlohmann::json()) == "checkpoint" &&
          record.value("best", nlohmann::json()) == true && record.contains("step") &&
          record["step"].is_number_integer())
        best = record["step"].get<std::int64_t>();
    };
    FileTail journal(attempt / "journal.jsonl");
    while (journal.read(look).more) {
    }
    if (best) return best;
  }
  return {};
}

}  // namespace

TreeSize& TreeSize::operator+=(const TreeSize& other) {
  bytes += other.bytes;
  files += other.files;
  checkpoints += other.checkpoints;
  return *this;
}

TreeSize tree_size(const fs::path& folder) {
  return size_at(AT_FDCWD, folder.string(), false);
}

namespace {

struct File {
  std::int64_t step;
  std::size_t folder;
  std::string name;
};

/// Folder and step of the checkpoints that stay, of these, newest first.
std::set<std::pair<std::size_t, std::int64_t>> staying(const std::vector<File>& files,
                                                       const std::optional<std::int64_t>& best,
                                                       KeepCheckpoints keep, std::int64_t count) {
  std::set<std::int64_t> kept;
  const bool has_best = best && std::any_of(files.begin(), files.end(),
                                            [&](const File& file) { return file.step == *best; });
  if (has_best) kept.insert(*best);
  if (keep == KeepCheckpoints::best) count = has_best ? 0 : 1;
  std::set<std::pair<std::size_t, std::int64_t>> stay;
  for (const File& file : files) {
    const bool newest = keep != KeepCheckpoints::none && count-- > 0;
    // Of the same step in two attempts, one is enough.
    if (newest || kept.erase(file.step) > 0) stay.emplace(file.folder, file.step);
  }
  return stay;
}

}  // namespace

Pruning prune_checkpoints(const std::vector<fs::path>& attempts, KeepCheckpoints keep,
                          std::int64_t count) {
  if (keep == KeepCheckpoints::all) return {};
  Pruner pruner;
  std::vector<std::pair<fs::path, std::unique_ptr<OpenFolder>>> folders;
  std::vector<File> files, slices;
  for (const fs::path& attempt : attempts) {
    auto folder = pruner.open(attempt / "checkpoints");
    if (!folder) continue;
    for (const std::string& name : folder->names())
      if (const auto file = parse_checkpoint_name(name))
        (file->slice ? slices : files).push_back({file->step, folders.size(), name});
    folders.emplace_back(attempt / "checkpoints", std::move(folder));
  }
  std::stable_sort(files.begin(), files.end(),
                   [](const File& a, const File& b) { return a.step > b.step; });
  const auto best = keep == KeepCheckpoints::none ? std::nullopt : best_step(attempts);
  const auto stay = staying(files, best, keep, count);
  for (const auto& list : {files, slices})
    for (const File& file : list)
      if (!stay.contains({file.folder, file.step}))
        pruner.remove(*folders[file.folder].second, folders[file.folder].first / file.name);
  return pruner.result;
}

}  // namespace thalweg::daemon
