// The threads of a rank, one lane of the model each.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/nn/model.h"

namespace thalweg::engine {

/// Runs tasks (shards) on `threads` lanes; the calling thread is one of them. A task is computed by
/// one thread alone, so results do not depend on the number of threads. run() is for one thread.
class LanePool {
 public:
  using Task = std::function<void(int task, Lane& lane)>;

  LanePool(const Model& model, int threads);
  LanePool(const LanePool&) = delete;
  LanePool& operator=(const LanePool&) = delete;
  ~LanePool();

  /// For those who give a lane work between two run()s.
  Lane& lane(std::size_t number) { return *lanes_[number]; }
  int threads() const { return static_cast<int>(lanes_.size()); }
  /// For Batch::round, within a task: the number of this run(). Nobody may change the parameters
  /// while tasks read them.
  std::uint64_t round() const { return round_; }
  /// Which of the lanes it is: 0 ... threads() - 1.
  std::size_t number_of(const Lane& lane) const;
  /// Calls `task` once for each number below `tasks`, started in ascending order; returns when all
  /// are done. Throws the first exception that a task threw, after the others have ended.
  void run(int tasks, const Task& task);

 private:
  void serve(std::size_t lane);
  void work(Lane& lane);

  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<std::thread> helpers_;
  std::mutex mutex_;
  std::condition_variable changed_;
  const Task* task_ = nullptr;
  int tasks_ = 0;
  std::atomic<int> next_{0};
  std::uint64_t round_ = 0;
  int busy_ = 0;
  bool stop_ = false;
  std::exception_ptr error_;
};

}  // namespace thalweg::engine
