// SIGTERM, SIGINT and SIGUSR1 ask a run to stop after a checkpoint.
#pragma once

#include <atomic>

namespace thalweg::engine {

/// Set from a signal handler or another thread.
class StopFlag {
 public:
  void request() { requested_.store(true, std::memory_order_relaxed); }
  bool requested() const { return requested_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> requested_{false};
  static_assert(std::atomic<bool>::is_always_lock_free);
};

/// Installs handlers that set the returned flag. A signal that comes a second or more after the
/// first one ends the process at once (schedulers may send the same signal twice within
/// milliseconds, to a step and its tasks).
const StopFlag& stop_on_signals();

}  // namespace thalweg::engine
