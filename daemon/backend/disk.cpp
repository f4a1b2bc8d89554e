#include "daemon/backend/disk.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/clock.h"

namespace thalweg::daemon {

using Seconds = std::chrono::duration<double>;

namespace {

constexpr Seconds max_patience(10);
constexpr double more_than_it_took = 1.5;

}  // namespace

/// Outlives the Disk as long as the thread is inside a call.
struct Disk::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::function<void()> work;
  bool busy = false;
  bool stop = false;
  Clock::time_point begun;
  Seconds patience;
  Threads threads = Threads::own;

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
      const Seconds took = Clock::now() - begun;
      if (took > patience)
        patience = std::max(patience, std::min(took * more_than_it_took, max_patience));
      busy = false;
      changed.notify_all();
    }
  }
};

Disk::Disk(double patience_s, std::function<void()> before, Threads threads)
    : before_(std::move(before)), shared_(std::make_shared<Shared>()) {
  shared_->patience = Seconds(patience_s);
  shared_->threads = threads;
  if (threads == Threads::own) std::thread([shared = shared_] { shared->serve(); }).detach();
}

Disk::~Disk() {
  const std::lock_guard lock(shared_->mutex);
  shared_->stop = true;
  shared_->changed.notify_all();
}

void Disk::wait_for(std::function<void()> work) {
  if (shared_->threads == Threads::none) return work();
  std::unique_lock lock(shared_->mutex);
  const auto is_free = [&] { return !shared_->busy; };
  if (is_free()) {
    shared_->busy = true;
    shared_->begun = Clock::now();
    shared_->work = std::move(work);
    shared_->changed.notify_all();
    if (shared_->changed.wait_for(lock, shared_->patience, is_free)) return;
  }
  throw DiskHangs("the filesystem of the run folders does not answer");
}

std::optional<double> Disk::hangs() const {
  const std::lock_guard lock(shared_->mutex);
  if (!shared_->busy) return {};
  return Seconds(Clock::now() - shared_->begun).count();
}

}  // namespace thalweg::daemon
