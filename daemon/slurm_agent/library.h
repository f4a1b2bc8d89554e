// libslurm's life in this process: looked for without risk, started, and started again when its
// configuration changes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <string>

namespace thalweg::slurm_agent {

/// There is no usable Slurm on this machine; what() says why.
struct NoSlurm : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Thread-safe. Every call of libslurm happens while holding a Use.
class Library {
 public:
  Library() = default;
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  using Use = std::shared_lock<std::shared_mutex>;

  /// Starts libslurm if that has not happened, or again after reload() or a change of slurm.conf
  /// (looked at every two seconds at most). Throws NoSlurm.
  Use use();
  /// The next use() starts libslurm afresh. Safe in any thread.
  void reload() { stale_ = true; }
  /// Changes whenever libslurm has been started: what was loaded before may be out of date.
  unsigned generation() const { return generation_; }

 private:
  struct FileStamp {
    std::string path;
    std::int64_t modified_ns = 0;
    std::uint64_t inode = 0;
    bool operator==(const FileStamp&) const = default;
  };
  static FileStamp find_configuration();
  void start();  // holds mutex_ alone

  std::shared_mutex mutex_;
  std::atomic<bool> stale_ = true;
  std::atomic<unsigned> generation_ = 0;
  bool started_ = false;
  FileStamp stamp_;
  std::mutex looked_mutex_;
  std::chrono::steady_clock::time_point looked_{};
};

}  // namespace thalweg::slurm_agent
