#include "engine/launch/rendezvous.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <string>
#include <system_error>

namespace thalweg::engine::launch {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "thalweg-launch-";
constexpr const char* kLock = "lock";
// Between creating its folder and locking it, a launcher must not be taken for a dead one.
constexpr std::time_t kYoungSeconds = 10;

fs::path base() {
  const char* tmpdir = std::getenv("TMPDIR");
  return tmpdir && *tmpdir ? tmpdir : "/tmp";
}

/// Not asking whether a pid is alive: another pid namespace may share the folder.
bool abandoned(const fs::path& folder) {
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return false;
  if (status.st_uid != ::geteuid()) return false;
  if (std::time(nullptr) - status.st_mtime < kYoungSeconds) return false;
  const int fd = ::open((folder / kLock).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return errno == ENOENT;
  const bool free = ::flock(fd, LOCK_EX | LOCK_NB) == 0;
  ::close(fd);
  return free;
}

void remove_abandoned(const fs::path& where) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(where, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.compare(0, std::char_traits<char>::length(kPrefix), kPrefix) != 0) continue;
    if (abandoned(entry.path())) fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace

Rendezvous::Rendezvous() {
  remove_abandoned(base());
  std::string name = (base() / (kPrefix + std::to_string(::getpid()) + "-XXXXXX")).string();
  if (!::mkdtemp(name.data())) {
    throw std::system_error(errno, std::generic_category(), "cannot create a folder " + name);
  }
  path_ = name;
  lock_ = ::open((path_ / kLock).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock_ < 0 || ::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot lock " + name);
  }
}

Rendezvous::~Rendezvous() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace thalweg::engine::launch
