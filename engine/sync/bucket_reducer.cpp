#include "engine/sync/bucket_reducer.h"

#include <chrono>
#include <utility>

namespace thalweg::engine {
namespace {

// While backward runs, communication looks in this often: rarely enough not to cost the computing
// threads more than about a percent of a core, often enough for large buckets to move.
constexpr std::chrono::microseconds kPoll{100};

}  // namespace

BucketReducer::BucketReducer(comm::Group& group, int shards, std::vector<Part> parts)
    : group_(group),
      shards_(shards),
      parts_(std::move(parts)),
      left_(std::make_unique<std::atomic<int>[]>(parts_.size())),
      done_(parts_.size(), false) {
  thread_ = std::thread([this] { serve(); });
}

BucketReducer::~BucketReducer() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void BucketReducer::begin() {
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t p = 0; p < parts_.size(); ++p)
      left_[p] = parts_[p].marks;
    done_.assign(parts_.size(), false);
    hurry_ = false;
    active_ = true;
  }
  changed_.notify_all();
}

void BucketReducer::mark(std::size_t part) {
  if (--left_[part] != 0) return;
  { const std::lock_guard lock(mutex_); }  // the thread is either waiting or has not yet looked
  changed_.notify_all();
}

void BucketReducer::hurry() {
  {
    const std::lock_guard lock(mutex_);
    hurry_ = true;
  }
  changed_.notify_all();
}

void BucketReducer::wait(std::size_t part) {
  std::unique_lock lock(mutex_);
  // After the last part the thread must also have let go of the group.
  changed_.wait(lock,
                [&] { return error_ || (done_[part] && (part + 1 < parts_.size() || !active_)); });
  if (error_) std::rethrow_exception(error_);
}

void BucketReducer::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stop_ || (active_ && !error_); });
    if (stop_) return;
    lock.unlock();
    std::exception_ptr error;
    try {
      reduce_all();
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    error_ = error;
    active_ = false;
    changed_.notify_all();
  }
}

void BucketReducer::reduce_all() {
  std::vector<std::unique_ptr<comm::Request>> open;
  const auto finish = [&](std::size_t part) {
    open[part].reset();
    const std::lock_guard lock(mutex_);
    done_[part] = true;
    changed_.notify_all();
  };
  while (true) {
    while (may_start(open.size())) {
      const Part& part = parts_[open.size()];
      open.push_back(group_.start_shard_sum(part.leaves, part.count, shards_));
    }
    bool hurry = false;
    {
      const std::lock_guard lock(mutex_);
      if (stop_) return;
      hurry = hurry_;
    }
    const bool all_started = open.size() == parts_.size();
    bool waiting = false;
    for (std::size_t p = 0; p < open.size(); ++p) {
      if (!open[p]) continue;
      if (hurry && all_started)
        open[p]->wait();
      else if (!open[p]->test()) {
        waiting = true;
        continue;
      }
      finish(p);
    }
    if (!waiting && all_started) return;
    std::unique_lock lock(mutex_);
    const auto news = [&] { return stop_ || may_start(open.size()) || (hurry_ && !hurry); };
    if (waiting)
      changed_.wait_for(lock, kPoll, news);
    else
      changed_.wait(lock, news);
  }
}

}  // namespace thalweg::engine
