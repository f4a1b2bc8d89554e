#include "daemon/controller/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>

#include "base/checkpoint_name.h"
#include "daemon/controller/journal.h"

namespace thalweg::daemon {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t block_bytes = 512;  // what st_blocks counts in
// Each level that is looked into keeps a folder open and a path in memory, and what users make may
// be tens of thousands of folders deep.
constexpr int deepest = 100;
constexpr int max_passes = 10'000;

/// A folder that is open.
class Folder {
 public:
  /// `at`: AT_FDCWD or an open folder. Nothing where there is no such folder.
  static std::unique_ptr<Folder> open(int at, const std::string& name) {
    const int fd = ::openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return nullptr;
    DIR* const stream = fdopendir(fd);
    if (stream == nullptr) {
      ::close(fd);
      return nullptr;
    }
    return std::unique_ptr<Folder>(new Folder(stream));
  }
  ~Folder() { closedir(stream_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  int fd() const { return dirfd(stream_); }
  /// Before anything is removed, so that the list is whole.
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    while (const dirent* entry = readdir(stream_))
      if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0)
        names.emplace_back(entry->d_name);
    return names;
  }

 private:
  explicit Folder(DIR* stream) : stream_(stream) {}
  DIR* stream_;
};

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
  if (depth == deepest) return size;
  if (const auto folder = Folder::open(at, name))
    for (const std::string& each : folder->names())
      size += size_at(folder->fd(), each, in_checkpoints || name == "checkpoints", depth + 1);
  return size;
}

[[noreturn]] void cannot_remove(const fs::path& what, int error) {
  throw std::system_error(error, std::generic_category(), "cannot remove " + what.string());
}

/// `top`: the folder that all is removed from. What lies too deep is moved there, for another pass.
void remove_at(int at, const std::string& name, const fs::path& path, int top, int depth) {
  if (unlinkat(at, name.c_str(), 0) == 0 || errno == ENOENT) return;
  if (errno != EISDIR && errno != EPERM) cannot_remove(path, errno);
  if (depth == deepest) {
    static std::atomic<std::uint64_t> moved{0};
    const std::string aside = fmt::format(".removed-{}-{}", ::getpid(), ++moved);
    if (::renameat(at, name.c_str(), top, aside.c_str()) != 0) cannot_remove(path, errno);
    return;
  }
  if (const auto folder = Folder::open(at, name))
    for (const std::string& each : folder->names())
      remove_at(folder->fd(), each, path / each, top, depth + 1);
  if (unlinkat(at, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) cannot_remove(path, errno);
}

/// Returns the bytes that are free now.
std::int64_t remove_file(int at, const std::string& name) {
  struct stat status {};
  if (fstatat(at, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return 0;
  return unlinkat(at, name.c_str(), 0) == 0 ? status.st_blocks * block_bytes : 0;
}

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

void remove_tree(const fs::path& folder) {
  // The way to it may have links (`runs` on another disk); what is in it may not.
  const int parent = ::open(folder.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (parent < 0) {
    if (errno == ENOENT) return;
    cannot_remove(folder, errno);
  }
  const std::unique_ptr<const int, void (*)(const int*)> closes(
      &parent, [](const int* fd) { ::close(*fd); });
  const std::string name = folder.filename().string();
  for (int pass = 0; pass < max_passes; ++pass) {
    const auto top = Folder::open(parent, name);
    const std::vector<std::string> names = top ? top->names() : std::vector<std::string>();
    if (names.empty()) break;
    for (const std::string& each : names)
      remove_at(top->fd(), each, folder / each, top->fd(), 1);
  }
  remove_at(parent, name, folder, parent, 0);
}

std::int64_t prune_checkpoints(const std::vector<fs::path>& attempts, KeepCheckpoints keep,
                               std::int64_t count) {
  if (keep == KeepCheckpoints::all) return 0;
  struct File {
    std::int64_t step;
    std::size_t folder;
    std::string name;
  };
  std::vector<std::unique_ptr<Folder>> folders;
  std::vector<File> files, slices;
  for (const fs::path& attempt : attempts) {
    auto folder = Folder::open(AT_FDCWD, (attempt / "checkpoints").string());
    if (!folder) continue;
    for (const std::string& name : folder->names())
      if (const auto file = parse_checkpoint_name(name))
        (file->slice ? slices : files).push_back({file->step, folders.size(), name});
    folders.push_back(std::move(folder));
  }
  std::stable_sort(files.begin(), files.end(),
                   [](const File& a, const File& b) { return a.step > b.step; });
  std::set<std::int64_t> kept;
  const auto best = keep == KeepCheckpoints::none ? std::nullopt : best_step(attempts);
  const bool has_best = best && std::any_of(files.begin(), files.end(),
                                            [&](const File& file) { return file.step == *best; });
  if (has_best) kept.insert(*best);
  if (keep == KeepCheckpoints::best) count = has_best ? 0 : 1;
  std::int64_t freed = 0;
  std::set<std::pair<std::size_t, std::int64_t>> stay;  // folder and step
  for (const File& file : files) {
    const bool newest = keep != KeepCheckpoints::none && count-- > 0;
    // Of the same step in two attempts, one is enough.
    if (newest || kept.erase(file.step) > 0)
      stay.emplace(file.folder, file.step);
    else
      freed += remove_file(folders[file.folder]->fd(), file.name);
  }
  for (const File& slice : slices)
    if (!stay.contains({slice.folder, slice.step}))
      freed += remove_file(folders[slice.folder]->fd(), slice.name);
  return freed;
}

}  // namespace thalweg::daemon
