// Waiting for all ranks outside of collectives: at a fence, at the end.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "engine/comm/transport/transport.h"

namespace thalweg::engine::comm {

/// One wait. Whoever gives no sign of life for as long as `timeout` is named.
class Watchdog {
 public:
  /// `what` is waited for, in messages; it must stay, as `transport`.
  Watchdog(Transport& transport, std::chrono::milliseconds timeout, const char* what,
           std::chrono::milliseconds nap = std::chrono::milliseconds(100))
      : transport_(transport), timeout_(timeout), what_(what), nap_(nap) {}

  /// Progresses, rests a little. Throws CommError once a peer is lost, does not answer, or all
  /// answer and nothing has come of it for a long time.
  void look();

 private:
  using Clock = std::chrono::steady_clock;
  [[noreturn]] void give_up(const std::string& why, int failed_rank);

  Transport& transport_;
  std::chrono::milliseconds timeout_;
  const char* what_;
  std::chrono::milliseconds nap_;
  Clock::time_point last_ = Clock::now();
  Clock::duration waited_{};
  int rounds_ = 0;
  std::uint32_t probe_ = 0;  ///< number of this round's probe; 0: not yet
};

}  // namespace thalweg::engine::comm
