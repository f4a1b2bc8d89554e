// The threads of a rank, one executor of the model each.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/nn/model.h"

namespace thalweg::engine {

/// Runs tasks (shards) on `threads` executors; the calling thread is one of them. A task is
/// computed by one thread alone, so results do not depend on the number of threads. run() is for
/// one thread.
class ExecutorPool {
 public:
  using Task = std::function<void(int task, Executor& executor)>;

  ExecutorPool(const Model& model, int threads);
  /// Of one thread, on an executor that other pools have too, none at the same time; `rounds`
  /// counts the run()s of all of them. Both must outlive the pool.
  ExecutorPool(Executor& shared, std::uint64_t& rounds);
  ExecutorPool(const ExecutorPool&) = delete;
  ExecutorPool& operator=(const ExecutorPool&) = delete;
  ~ExecutorPool();

  /// For those who give an executor work between two run()s.
  Executor& executor(std::size_t number) { return *executors_[number]; }
  int threads() const { return static_cast<int>(executors_.size()); }
  /// For Batch::round, within a task: the number of this run(). Nobody may change the parameters
  /// while tasks read them.
  std::uint64_t round() const { return round_; }
  /// Which of the executors it is: 0 ... threads() - 1.
  std::size_t number_of(const Executor& executor) const;
  /// Calls `task` once for each number below `tasks`, started in ascending order; returns when all
  /// are done. Throws the first exception that a task threw, after the others have ended.
  void run(int tasks, const Task& task);

 private:
  void serve(std::size_t executor);
  void work(Executor& executor);

  std::vector<std::unique_ptr<Executor>> own_;
  std::vector<Executor*> executors_;
  std::vector<std::thread> helpers_;
  std::mutex mutex_;
  std::condition_variable changed_;
  const Task* task_ = nullptr;
  int tasks_ = 0;
  std::atomic<int> next_{0};
  std::uint64_t own_rounds_ = 0;
  std::uint64_t* rounds_ = &own_rounds_;
  std::uint64_t round_ = 0;
  int busy_ = 0;
  bool stop_ = false;
  std::exception_ptr error_;
};

}  // namespace thalweg::engine
