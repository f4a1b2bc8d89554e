// Time that stands still while there is work and moves to the next timer when there is none.
#pragma once

#include <algorithm>
#include <limits>

#include "base/clock.h"

namespace thalweg::simulation {

class VirtualClock : public Clock::Source {
 public:
  VirtualClock() { Clock::set_source(this); }
  ~VirtualClock() override { Clock::set_source(nullptr); }
  VirtualClock(const VirtualClock&) = delete;
  VirtualClock& operator=(const VirtualClock&) = delete;

  double now() const { return now_; }  ///< seconds since the run began
  /// Of every machine but the controller's.
  double cluster_unix_s() const { return epoch + now_; }
  /// The controller's clock is set.
  void jump(double seconds) { offset_ += seconds; }
  void advance(double to) { now_ = std::max(now_, to); }
  /// Of the controller, since forget_timers(); infinite: none.
  double next_timer() const { return next_; }
  void forget_timers() { next_ = std::numeric_limits<double>::infinity(); }

  Clock::duration steady() override {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(1 + now_));
  }
  double unix_s() override { return cluster_unix_s() + offset_; }
  /// Nobody sleeps: who runs the executor looks at next_timer().
  Clock::duration sleep(Clock::duration left) override {
    constexpr double rounding = 1e-9;
    next_ = std::min(next_, now_ + std::chrono::duration<double>(left).count() + rounding);
    return Clock::duration::zero();
  }

 private:
  static constexpr double epoch = 1'800'000'000;
  double now_ = 0, offset_ = 0, next_ = 0;
};

}  // namespace thalweg::simulation
