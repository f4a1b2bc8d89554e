#include "daemon/backend/disk.h"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace thalweg::daemon {

using Clock = std::chrono::steady_clock;

/// Outlives the Disk as long as the thread is inside a call.
struct Disk::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::function<void()> work;
  bool busy = false;
  bool stop = false;
  Clock::time_point begun;

  void serve() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return stop || work; });
      if (stop) return;
      std::function<void()> now = std::exchange(work, {});
      lock.unlock();
      now();
      now = {};  // what it owns is given back here, before anybody is told
      lock.lock();
      busy = false;
      changed.notify_all();
    }
  }
};

Disk::Disk(double patience_s, std::function<void()> before)
    : patience_(patience_s), before_(std::move(before)), shared_(std::make_shared<Shared>()) {
  std::thread([shared = shared_] { shared->serve(); }).detach();
}

Disk::~Disk() {
  const std::lock_guard lock(shared_->mutex);
  shared_->stop = true;
  shared_->changed.notify_all();
}

void Disk::wait_for(std::function<void()> work) {
  std::unique_lock lock(shared_->mutex);
  const auto is_free = [&] { return !shared_->busy; };
  if (is_free()) {
    shared_->busy = true;
    shared_->begun = Clock::now();
    shared_->work = std::move(work);
    shared_->changed.notify_all();
    if (shared_->changed.wait_for(lock, patience_, is_free)) return;
  }
  throw DiskHangs("the filesystem of the run folders does not answer");
}

std::optional<double> Disk::hangs() const {
  const std::lock_guard lock(shared_->mutex);
  if (!shared_->busy) return {};
  return std::chrono::duration<double>(Clock::now() - shared_->begun).count();
}

}  // namespace thalweg::daemon
