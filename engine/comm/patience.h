// How a rank waits: it spins, then yields, then sleeps, and after long silence says who is missing.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

#include "engine/comm/group.h"

namespace thalweg::engine::comm {

/// The wait loop of everything that blocks on peers. Not thread-safe.
class Patience {
 public:
  /// `stall`: how long nothing may complete inside one wait before it is an error.
  Patience(Transport& transport, std::chrono::milliseconds stall)
      : transport_(transport), stall_(stall) {}

  /// Progresses the transport until done(). `what` names the operation in messages. Throws
  /// CommError when a peer is gone, or when nothing completed for the stall time: then it names the
  /// peers that do not answer a roll call (those stopped, or not inside any wait).
  void until(const std::function<bool()>& done, const char* what);

 private:
  using Clock = std::chrono::steady_clock;
  [[noreturn]] void stalled(Clock::duration silence, const char* what);

  Transport& transport_;
  std::chrono::milliseconds stall_;
};

/// What a receiver says when a message has not the length that it expects.
CommError wrong_length(int from, std::size_t sent, int to, std::size_t expected,
                       const std::string& node);

}  // namespace thalweg::engine::comm
