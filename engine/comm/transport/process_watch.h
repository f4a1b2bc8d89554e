// Sleeping until UCX has something to do, another thread calls, or a process on this machine ends.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <vector>

namespace thalweg::engine::comm {

/// Shared memory does not tell that the process at its other end is gone; the kernel does (pidfd).
class ProcessWatch {
 public:
  ProcessWatch();
  ~ProcessWatch();
  ProcessWatch(const ProcessWatch&) = delete;
  ProcessWatch& operator=(const ProcessWatch&) = delete;

  void add_events(int fd);  ///< becomes readable: wait() returns
  /// False where the kernel cannot watch it (before Linux 5.3).
  bool add_process(int rank, pid_t pid);

  /// Ranks whose process has ended since the last call, after at most `limit`. System V memory that
  /// such a process had made and not yet marked for removal is removed.
  std::vector<int> wait(std::chrono::milliseconds limit);
  int fd() const { return epoll_; }  ///< readable: wait() would return at once
  void wake();                       ///< from any thread: lets wait() return

 private:
  int epoll_ = -1;
  int waker_ = -1;
  struct Watched {
    int rank;
    pid_t pid;
    int fd;
  };
  std::vector<Watched> watched_;
};

}  // namespace thalweg::engine::comm
