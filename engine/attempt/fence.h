// Ends an attempt that the controller has given up: seen in its folder, or heard in the answer to a
// push.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "engine/attempt/stop.h"

namespace thalweg::engine {

/// Rank 0's. Looks every two seconds. First all ranks are asked to stop after the step they are at;
/// where they have not done so within five seconds more, `leave` is called from the fence's own
/// thread: a rank may hang, and a later attempt waits for this one's end.
class Fence {
 public:
  /// `heard` is set from elsewhere when the controller says it in answer to a push.
  Fence(std::filesystem::path folder, std::shared_ptr<const StopFlag> heard,
        std::function<void()> leave);
  Fence(const Fence&) = delete;
  Fence& operator=(const Fence&) = delete;
  ~Fence();

  /// Set when the attempt was given up.
  const StopFlag& flag() const { return flag_; }

 private:
  void watch();
  bool given_up();

  std::filesystem::path folder_;
  std::shared_ptr<const StopFlag> heard_;
  std::function<void()> leave_;
  StopFlag flag_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  int gone_ = 0;  ///< looks in a row that found no folder; the fence's own thread only
  std::thread thread_;
};

}  // namespace thalweg::engine
