// A folder's name says who made it, and its lock whether that one lives: the lock holds across pid
// namespaces, the name also between making the folder and locking it.
#include "engine/launch/rendezvous.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>
#include <system_error>

#include "base/machine.h"

namespace thalweg::engine::launch {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "thalweg-launch-";
constexpr const char* kLock = "lock";
// Between creating its folder and locking it, a launcher of another pid namespace must not be taken
// for a dead one.
constexpr std::time_t kYoungSeconds = 10;

fs::path base() {
  const char* tmpdir = std::getenv("TMPDIR");
  return tmpdir && *tmpdir ? tmpdir : "/tmp";
}

/// Where a pid means the same process: this boot, this pid namespace (FNV-1a of both).
std::string pid_space() {
  std::error_code ignored;
  std::uint32_t hash = 2166136261u;
  for (const char c : boot_id() + fs::read_symlink("/proc/self/ns/pid", ignored).string())
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  char text[9];
  std::snprintf(text, sizeof text, "%08x", hash);
  return text;
}

/// "SPACE-PID-START", after the prefix and before mkdtemp's letters.
std::string owner_name(pid_t pid) {
  return pid_space() + "-" + std::to_string(pid) + "-" +
         std::to_string(process_start_time(pid).value_or(0));
}

enum class Owner { lives, ended, unknown };

Owner owner_of(const std::string& name) {
  const std::string owner = name.substr(kPrefix.size(), name.rfind('-') - kPrefix.size());
  const std::string here = pid_space() + "-";
  if (!owner.starts_with(here)) return Owner::unknown;
  const auto pid = static_cast<pid_t>(std::atol(owner.c_str() + here.size()));
  return owner == owner_name(pid) ? Owner::lives : Owner::ended;
}

/// Whether the kernel holds its owner's lock.
bool locked(const fs::path& folder) {
  const Descriptor file(::open((folder / kLock).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return errno != ENOENT;
  return ::flock(file.get(), LOCK_EX | LOCK_NB) != 0;
}

bool abandoned(const fs::path& folder) {
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return false;
  if (status.st_uid != ::geteuid() || locked(folder)) return false;
  const Owner owner = owner_of(folder.filename().string());
  if (owner != Owner::unknown) return owner == Owner::ended;
  return std::time(nullptr) - status.st_mtime >= kYoungSeconds;
}

void remove_abandoned(const fs::path& where) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(where, ignored)) {
    if (!entry.path().filename().string().starts_with(kPrefix)) continue;
    if (abandoned(entry.path())) fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace

Rendezvous::Rendezvous() {
  remove_abandoned(base());
  std::string name =
      (base() / (std::string(kPrefix) + owner_name(::getpid()) + "-XXXXXX")).string();
  if (!::mkdtemp(name.data())) {
    throw std::system_error(errno, std::generic_category(), "cannot create a folder " + name);
  }
  path_ = name;
  lock_ = Descriptor(::open((path_ / kLock).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock_ || ::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot lock " + name);
  }
}

Rendezvous::~Rendezvous() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  lock_ = Descriptor();
  remove_abandoned(base());
}

}  // namespace thalweg::engine::launch
