#include "engine/sync/lane_pool.h"

#include <omp.h>

#include <algorithm>

#include "engine/nn/lane.h"

namespace thalweg::engine {

LanePool::LanePool(const Model& model, int threads) {
  // Kernels use OpenMP: one thread per lane, or the lanes would fight over the cores.
  omp_set_num_threads(1);
  for (int i = 0; i < threads; ++i)
    lanes_.push_back(model.lane());
  for (std::size_t i = 1; i < lanes_.size(); ++i)
    helpers_.emplace_back([this, i] { serve(i); });
}

LanePool::~LanePool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (std::thread& helper : helpers_)
    helper.join();
}

std::size_t LanePool::number_of(const Lane& lane) const {
  const auto found = std::find_if(lanes_.begin(), lanes_.end(),
                                  [&](const auto& mine) { return mine.get() == &lane; });
  return static_cast<std::size_t>(found - lanes_.begin());
}

void LanePool::run(int tasks, const Task& task) {
  {
    const std::lock_guard lock(mutex_);
    task_ = &task;
    tasks_ = tasks;
    next_ = 0;
    error_ = nullptr;
    busy_ = static_cast<int>(helpers_.size());
    ++round_;
  }
  changed_.notify_all();
  work(*lanes_[0]);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return busy_ == 0; });
  if (error_) std::rethrow_exception(error_);
}

void LanePool::serve(std::size_t lane) {
  omp_set_num_threads(1);  // the setting is each thread's own
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stop_ || round_ != seen; });
    if (stop_) return;
    seen = round_;
    lock.unlock();
    work(*lanes_[lane]);
    lock.lock();
    if (--busy_ == 0) changed_.notify_all();
  }
}

void LanePool::work(Lane& lane) {
  try {
    for (int task = next_++; task < tasks_; task = next_++)
      (*task_)(task, lane);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
    next_ = tasks_;
  }
}

}  // namespace thalweg::engine
