// Who owns a file the kernel says: it grants a read lease only where nobody has the file open for
// writing, in any pid namespace, and a mapping counts as the descriptor it was made with. Asking
// whether a pid lives would be wrong in another namespace, or where the number was used again.
#include "engine/comm/transport/leftovers.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <string_view>

#include "base/machine.h"

namespace thalweg::engine::comm {
namespace {

constexpr std::string_view kPrefixes[] = {"ucx_shm_posix_", "nccl-"};
// An empty file may be one that its maker is just opening.
constexpr std::time_t kYoungSeconds = 10;

bool nobody_has(int file) {
  struct stat about {};
  if (::fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) return false;
  if (about.st_uid != ::geteuid()) return false;
  if (about.st_size == 0 && std::time(nullptr) - about.st_ctime < kYoungSeconds) return false;
  // Whoever opens it meanwhile waits until we close it; the kernel tells us by a signal, which
  // shall not be SIGIO: that ends a process.
  return ::fcntl(file, F_SETSIG, SIGURG) == 0 && ::fcntl(file, F_SETLEASE, F_RDLCK) == 0;
}

/// Those without a key that are this user's and attached by nobody.
template <class Which>
void remove_segments(const Which& which) {
  shm_info info{};
  const int last = ::shmctl(0, SHM_INFO, reinterpret_cast<shmid_ds*>(&info));
  for (int i = 0; i <= last; ++i) {
    shmid_ds memory{};
    const int id = ::shmctl(i, SHM_STAT, &memory);
    if (id < 0 || memory.shm_nattch > 0 || memory.shm_perm.__key != IPC_PRIVATE) continue;
    if (memory.shm_perm.cuid == ::geteuid() && which(memory)) ::shmctl(id, IPC_RMID, nullptr);
  }
}

}  // namespace

std::string memory_folder() {
  const char* set = std::getenv("UCX_POSIX_DIR");
  return set && *set ? set : "/dev/shm";
}

void remove_abandoned_memory(const std::string& folder) {
  DIR* const entries = ::opendir(folder.c_str());
  if (entries == nullptr) return;
  const int where = ::dirfd(entries);
  while (const dirent* entry = ::readdir(entries)) {
    const std::string_view name = entry->d_name;
    if (std::none_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [name](std::string_view prefix) { return name.starts_with(prefix); }))
      continue;
    const int file = ::openat(where, entry->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) continue;
    if (nobody_has(file)) (void)::unlinkat(where, entry->d_name, 0);
    (void)::close(file);
  }
  (void)::closedir(entries);
}

void remove_segments_of(pid_t ended) {
  remove_segments([&](const shmid_ds& memory) { return memory.shm_cpid == ended; });
}

void remove_abandoned_segments() {
  const long page = ::sysconf(_SC_PAGESIZE);
  remove_segments([&](const shmid_ds& memory) {
    const pid_t maker = memory.shm_cpid;  // 0: of another pid namespace
    const bool used_by_others = memory.shm_lpid != 0 && memory.shm_lpid != maker;
    return memory.shm_segsz <= static_cast<std::size_t>(page) && !used_by_others && maker > 0 &&
           !process_start_time(maker);  // one that only waits to be reaped has ended, too
  });
}

}  // namespace thalweg::engine::comm
