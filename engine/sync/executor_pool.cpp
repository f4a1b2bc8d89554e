#include "engine/sync/executor_pool.h"

#include <omp.h>

#include <algorithm>

#include "engine/nn/executor.h"

namespace thalweg::engine {

ExecutorPool::ExecutorPool(const Model& model, int threads) {
  // Kernels use OpenMP: one thread per executor, or the executors would fight over the cores.
  omp_set_num_threads(1);
  for (int i = 0; i < threads; ++i)
    executors_.push_back(own_.emplace_back(model.executor()).get());
  for (std::size_t i = 1; i < executors_.size(); ++i)
    helpers_.emplace_back([this, i] { serve(i); });
}

ExecutorPool::ExecutorPool(Executor& shared, std::uint64_t& rounds)
    : executors_{&shared}, rounds_(&rounds) {
  omp_set_num_threads(1);
}

ExecutorPool::~ExecutorPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (std::thread& helper : helpers_)
    helper.join();
}

std::size_t ExecutorPool::number_of(const Executor& executor) const {
  const auto found = std::find_if(executors_.begin(), executors_.end(),
                                  [&](const Executor* mine) { return mine == &executor; });
  return static_cast<std::size_t>(found - executors_.begin());
}

void ExecutorPool::run(int tasks, const Task& task) {
  {
    const std::lock_guard lock(mutex_);
    task_ = &task;
    tasks_ = tasks;
    next_ = 0;
    error_ = nullptr;
    busy_ = static_cast<int>(helpers_.size());
    round_ = ++*rounds_;
  }
  changed_.notify_all();
  work(*executors_[0]);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return busy_ == 0; });
  if (error_) std::rethrow_exception(error_);
}

void ExecutorPool::serve(std::size_t executor) {
  omp_set_num_threads(1);  // the setting is each thread's own
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stop_ || round_ != seen; });
    if (stop_) return;
    seen = round_;
    lock.unlock();
    work(*executors_[executor]);
    lock.lock();
    if (--busy_ == 0) changed_.notify_all();
  }
}

void ExecutorPool::work(Executor& executor) {
  try {
    for (int task = next_++; task < tasks_; task = next_++)
      (*task_)(task, executor);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
    next_ = tasks_;
  }
}

}  // namespace thalweg::engine
