#include "engine/sync/bucket_reducer.h"

#include <chrono>
#include <mutex>
#include <utility>

namespace thalweg::engine {
namespace {

// While backward runs, communication looks in this often: rarely enough not to cost the computing
// threads more than about a percent of a core, often enough for large buckets to move.
constexpr std::chrono::microseconds kPoll{100};

}  // namespace

std::vector<GradientPart> gradient_parts(const std::vector<Bucket>& buckets,
                                         const std::vector<ParameterInfo>& infos,
                                         const std::vector<float*>& gradients,
                                         const std::vector<float*>& stats, std::size_t stat_count) {
  std::vector<GradientPart> parts;
  for (const Bucket& bucket : buckets) {
    GradientPart part;
    for (float* const gradient : gradients)
      part.leaves.push_back(gradient + bucket.offset);
    part.number = parts.size();
    part.offset = bucket.offset;
    part.count = bucket.count;
    part.parameters = bucket.parameters;
    part.label = "bucket " + std::to_string(parts.size() + 1) + ": ";
    for (const int number : bucket.parameters)
      part.label += (number == bucket.parameters.front() ? "" : ", ") +
                    infos[static_cast<std::size_t>(number)].name;
    parts.push_back(std::move(part));
  }
  GradientPart last;
  last.leaves = stats;
  last.number = parts.size();
  last.count = stat_count;
  last.label = "loss and statistics";
  parts.push_back(std::move(last));
  return parts;
}

BucketReducer::BucketReducer(Start start, const Options& options)
    : start_(std::move(start)), options_(options) {
  thread_ = threads::Thread([this] { serve(); });
}

BucketReducer::~BucketReducer() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void BucketReducer::set_parts(std::vector<GradientPart> parts) {
  const std::lock_guard lock(mutex_);
  parts_ = std::move(parts);
  left_ = std::make_unique<std::atomic<int>[]>(parts_.size());
  times_.assign(parts_.size(), {});
  open_.reserve(parts_.size());
}

void BucketReducer::begin() {
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t p = 0; p < parts_.size(); ++p)
      left_[p] = parts_[p].marks;
    done_.assign(parts_.size(), false);
    undone_ = parts_.size();
    hurry_ = false;
    active_ = true;
    since_begin_ = {};
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

bool BucketReducer::is_done() {
  const std::lock_guard lock(mutex_);
  return error_ || !active_;
}

void BucketReducer::wait(std::size_t part) {
  std::unique_lock lock(mutex_);
  // With the last part done the thread must also have let go of the group.
  changed_.wait(lock, [&] { return error_ || (done_[part] && (undone_ > 0 || !active_)); });
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
    open_.clear();
    lock.lock();
    error_ = error;
    active_ = false;
    changed_.notify_all();
  }
}

void BucketReducer::reduce_all() {
  while (true) {
    while (may_start(open_.size())) {
      const std::size_t part = open_.size();
      times_[part].start = since_begin_.ms();
      open_.push_back(start_(parts_[part]));
      if (!open_.back()) finish(part);
    }
    bool hurry = false;
    {
      const std::lock_guard lock(mutex_);
      if (stop_) return;
      hurry = hurry_;
    }
    const bool all_started = open_.size() == parts_.size();
    look_after(hurry && all_started);
    std::unique_lock lock(mutex_);
    if (undone_ == 0) return;
    const auto news = [&] { return stop_ || may_start(open_.size()) || (hurry_ && !hurry); };
    const bool under_way = undone_ > parts_.size() - open_.size();
    if (under_way)
      changed_.wait_for(lock, kPoll, news);
    else
      changed_.wait(lock, news);
  }
}

void BucketReducer::look_after(bool to_the_end) {
  for (std::size_t i = 0; i < open_.size(); ++i) {
    const std::size_t part = options_.last_first ? open_.size() - 1 - i : i;
    if (!open_[part]) continue;
    if (to_the_end && wait_)
      wait_([&] { return open_[part]->test(); });
    else if (to_the_end)
      open_[part]->wait();
    else if (!open_[part]->test())
      continue;
    open_[part].reset();
    finish(part);
  }
}

void BucketReducer::finish(std::size_t part) {
  times_[part].end = since_begin_.ms();
  const std::lock_guard lock(mutex_);
  done_[part] = true;
  --undone_;
  changed_.notify_all();
}

}  // namespace thalweg::engine
