// Folders that people's programs have filled, taken away. Every step goes from a folder that is
// open to a name in it, and no symbolic link is followed, so that nothing outside is ever touched,
// whatever happens to the tree meanwhile.
#pragma once

#include <dirent.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace thalweg {

/// So deep is looked into a tree: each level keeps a folder open and a path in memory, and what
/// users make may be tens of thousands of folders deep.
inline constexpr int deepest_level = 100;

/// A folder that is open.
class OpenFolder {
 public:
  /// `at`: AT_FDCWD or an open folder. Null where it cannot be opened (errno).
  static std::unique_ptr<OpenFolder> open(int at, const std::string& name);
  /// The same to change what is in it: one's own gets u+rwx where it lacks that.
  static std::unique_ptr<OpenFolder> open_to_change(int at, const std::string& name);
  ~OpenFolder() { closedir(stream_); }
  OpenFolder(const OpenFolder&) = delete;
  OpenFolder& operator=(const OpenFolder&) = delete;

  int fd() const { return dirfd(stream_); }
  /// From the start, at most so many, without these.
  std::vector<std::string> names(std::size_t most = std::numeric_limits<std::size_t>::max(),
                                 const std::set<std::string>& without = {}) const;

 private:
  explicit OpenFolder(DIR* stream) : stream_(stream) {}
  DIR* stream_;
};

using RemovalClock = std::chrono::steady_clock;

/// What became of a removal: as much is gone as could be, and
struct Removal {
  bool more = false;        ///< its time was over before it was through
  std::int64_t failed = 0;  ///< so many could not be removed;
  std::string problem;      ///< the first of them, why, and what helps
};

/// Why `path` in the open folder `at` cannot be removed (errno `error`), and what helps.
std::string cannot_remove(int at, const std::filesystem::path& path, int error);

/// Everything in the folder of that name in the open one `at`. `path` names it for people. Fine
/// where it is gone.
Removal empty_tree(int at, const std::string& name, const std::filesystem::path& path,
                   RemovalClock::time_point until = RemovalClock::time_point::max());

/// The folder (a file, a link) itself, too. The way to it may have links.
Removal remove_tree(const std::filesystem::path& folder,
                    RemovalClock::time_point until = RemovalClock::time_point::max());

}  // namespace thalweg
