// Depth, width and modes are whatever a program made of them: few folders are open at once, names
// are read by the thousand, and a folder of one's own that may not be written in is made writable.
#include "base/tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/file.h"

namespace thalweg {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t names_at_once = 10'000;
// A folder that holds so many that cannot be removed is left.
constexpr std::size_t max_failures = 1000;

constexpr int folder_flags = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

/// Gives u+rwx to a folder of one's own that cannot be opened without it.
bool unlock(int at, const std::string& name) {
  const Descriptor found(::openat(at, name.c_str(), O_PATH | folder_flags));
  struct stat status {};
  if (!found || ::fstat(found.get(), &status) != 0 || status.st_uid != ::geteuid()) return false;
  // fchmod(2) refuses a descriptor of this kind, and chmod(2) of the name may follow a link.
  const std::string self = "/proc/self/fd/" + std::to_string(found.get());
  return ::chmod(self.c_str(), (status.st_mode & 07777) | S_IRWXU) == 0;
}

/// Of one removal.
class Remover {
 public:
  Remover(RemovalClock::time_point until, int top) : until_(until), top_(top) {}

  Removal result;

  bool over() {
    result.more = result.more || RemovalClock::now() >= until_;
    return result.more;
  }

  void empty(const OpenFolder& folder, const fs::path& path, int depth) {
    std::set<std::string> failed;
    for (;;) {
      const auto names = folder.names(names_at_once, failed);
      if (names.empty()) return;
      for (const std::string& name : names) {
        if (!remove(folder.fd(), name, path, depth)) failed.insert(name);
        if (over() || failed.size() >= max_failures) return;
      }
    }
  }

  /// False: it is still there, and `result` says why.
  bool remove(int at, const std::string& name, const fs::path& parent, int depth) {
    if (::unlinkat(at, name.c_str(), 0) == 0 || errno == ENOENT) return true;
    int why = errno;
    if (why != EISDIR && why != EPERM) return failure(at, parent / name, why);
    if (depth == deepest_level) return move_aside(at, name, parent);
    const std::int64_t failed_before = result.failed;
    if (const auto folder = OpenFolder::open_to_change(at, name)) {
      empty(*folder, parent / name, depth + 1);
    } else if (errno != ENOTDIR && errno != ELOOP) {
      why = errno;  // it may be empty all the same
    }
    if (result.more) return true;
    if (::unlinkat(at, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return true;
    if (errno == ENOTEMPTY && result.failed > failed_before) return false;
    if (errno != ENOTDIR && (errno != ENOTEMPTY || why == EISDIR)) why = errno;
    return failure(at, parent / name, why);
  }

 private:
  /// What lies too deep goes to the folder that all is removed from, to be found again there.
  bool move_aside(int at, const std::string& name, const fs::path& parent) {
    static std::atomic<std::uint64_t> moved{0};
    const std::string aside =
        ".removed-" + std::to_string(::getpid()) + "-" + std::to_string(++moved);
    unlock(at, name);  // a folder that gets another parent is written to
    return ::renameat(at, name.c_str(), top_, aside.c_str()) == 0 ||
           failure(at, parent / name, errno);
  }

  bool failure(int at, const fs::path& path, int error) {
    if (++result.failed == 1) result.problem = cannot_remove(at, path, error);
    return false;
  }

  RemovalClock::time_point until_;
  int top_;
};

std::string mode_text(mode_t mode) {
  char text[16];
  std::snprintf(text, sizeof text, "%04o", static_cast<unsigned>(mode & 07777));
  return text;
}

}  // namespace

std::unique_ptr<OpenFolder> OpenFolder::open(int at, const std::string& name) {
  const int fd = ::openat(at, name.c_str(), O_RDONLY | folder_flags);
  if (fd < 0) return nullptr;
  DIR* const stream = fdopendir(fd);
  if (stream == nullptr) {
    ::close(fd);
    return nullptr;
  }
  return std::unique_ptr<OpenFolder>(new OpenFolder(stream));
}

std::unique_ptr<OpenFolder> OpenFolder::open_to_change(int at, const std::string& name) {
  auto folder = open(at, name);
  if (!folder && errno == EACCES) {
    folder = unlock(at, name) ? open(at, name) : nullptr;
    if (!folder) errno = EACCES;
  }
  struct stat status {};
  if (folder && ::fstat(folder->fd(), &status) == 0 && status.st_uid == ::geteuid() &&
      (status.st_mode & S_IRWXU) != S_IRWXU)
    ::fchmod(folder->fd(), (status.st_mode & 07777) | S_IRWXU);
  return folder;
}

std::vector<std::string> OpenFolder::names(std::size_t most,
                                           const std::set<std::string>& without) const {
  std::vector<std::string> names;
  rewinddir(stream_);
  while (names.size() < most) {
    const dirent* const entry = readdir(stream_);
    if (entry == nullptr) break;
    const std::string name = entry->d_name;
    if (name != "." && name != ".." && without.count(name) == 0) names.push_back(name);
  }
  return names;
}

std::string cannot_remove(int at, const fs::path& path, int error) {
  std::string text = "cannot remove " + path.string() + ": " + std::strerror(error);
  if (error == EACCES || error == EPERM) {
    // What it is in must be written to; what is a folder must be emptied first.
    struct stat in {
    }, itself{};
    const bool known = ::fstat(at, &in) == 0 &&
                       ::fstatat(at, path.filename().c_str(), &itself, AT_SYMLINK_NOFOLLOW) == 0;
    const bool foreign_folder = known && in.st_uid != ::geteuid();
    if (foreign_folder || (known && S_ISDIR(itself.st_mode) && itself.st_uid != ::geteuid())) {
      const struct stat& closed = foreign_folder ? in : itself;
      const fs::path folder = foreign_folder ? path.parent_path() : path;
      text += "; folder " + folder.string() + " is uid " + std::to_string(closed.st_uid) +
              "'s (mode " + mode_text(closed.st_mode) +
              "), who can let it go: chmod -R ug+rwX, or rm -r";
    } else {
      text += "; lsattr tells whether it was made immutable (chattr -i)";
    }
  } else if (error == EBUSY) {
    text += "; something is mounted there, or a program has it open on another machine";
  } else if (error == ENOTEMPTY) {
    text += "; a program still writes there: end it";
  }
  return text;
}

Removal empty_tree(int at, const std::string& name, const fs::path& path,
                   RemovalClock::time_point until) {
  const auto top = OpenFolder::open_to_change(at, name);
  if (!top) {
    if (errno == ENOENT) return {};
    return {false, 1, cannot_remove(at, path, errno)};
  }
  Remover remover(until, top->fd());
  remover.empty(*top, path, 1);
  return remover.result;
}

Removal remove_tree(const fs::path& folder, RemovalClock::time_point until) {
  const Descriptor parent(::open(folder.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent) {
    if (errno == ENOENT) return {};
    return {false, 1, "cannot open " + folder.parent_path().string() + ": " + std::strerror(errno)};
  }
  const std::string name = folder.filename().string();
  if (::unlinkat(parent.get(), name.c_str(), 0) == 0 || errno == ENOENT) return {};
  if (errno != EISDIR && errno != EPERM)
    return {false, 1, cannot_remove(parent.get(), folder, errno)};
  Removal removal = empty_tree(parent.get(), name, folder, until);
  if (removal.more || removal.failed > 0) return removal;
  if (::unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT)
    return {false, 1, cannot_remove(parent.get(), folder, errno)};
  return removal;
}

}  // namespace thalweg
