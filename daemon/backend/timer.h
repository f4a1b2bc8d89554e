// Timers of everything that waits for time, on the clock that a simulation may replace.
#pragma once

#include <utility>  // boost 1.74's awaitable.hpp needs it first

#include <boost/asio/basic_waitable_timer.hpp>

#include "base/clock.h"

namespace thalweg::daemon {

struct Waits {
  static Clock::duration to_wait_duration(const Clock::duration& left) {
    Clock::Source* const source = Clock::source();
    return source == nullptr ? left : source->sleep(left);
  }
  static Clock::duration to_wait_duration(const Clock::time_point& until) {
    return to_wait_duration(until - Clock::now());
  }
};

using Timer = boost::asio::basic_waitable_timer<Clock, Waits>;

}  // namespace thalweg::daemon
