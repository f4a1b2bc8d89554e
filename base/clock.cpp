// One pointer for the whole process: timers of libraries give a clock nothing to remember it by.
#include "base/clock.h"

namespace thalweg {

namespace {

Clock::Source* current = nullptr;

}  // namespace

Clock::time_point Clock::now() noexcept {
  return time_point(current != nullptr ? current->steady()
                                       : std::chrono::steady_clock::now().time_since_epoch());
}

void Clock::set_source(Source* source) {
  current = source;
}

Clock::Source* Clock::source() {
  return current;
}

}  // namespace thalweg
