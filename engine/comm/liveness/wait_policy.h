// How a rank waits: it spins, then yields, then sleeps, and after a long time without progress says
// who is missing.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "engine/comm/liveness/waited_call.h"
#include "engine/comm/transport/transport.h"

namespace thalweg::engine::comm {

/// The wait loop of everything that blocks on peers. Not thread-safe.
class WaitPolicy {
 public:
  using Warn = std::function<void(const std::string&)>;
  /// `stall`: how long nothing may complete inside one wait before it is an error; half as long
  /// before `warn` is told.
  WaitPolicy(Transport& transport, std::chrono::milliseconds stall, Warn warn)
      : transport_(transport), stall_(stall), warn_(std::move(warn)) {}

  /// Progresses the transport until done(), which is what `call` waits for. Throws CommError
  /// when a peer is gone, or when nothing completed for the stall time: then it names the peers
  /// that do not answer a liveness probe (those stopped, or not inside any wait) or that have not
  /// joined the operation.
  void until(const std::function<bool()>& done, const WaitedCall& call);

  void warn_to(Warn warn) { warn_ = std::move(warn); }
  /// Counts what happens other than by messages; while that changes there is progress.
  std::uint64_t& work() { return work_; }
  /// From now on peers also tell in memory what they do, which wakes nobody up: never sleeps much
  /// longer than it has waited.
  void expect_memory() { memory_ = true; }

  /// For how long nothing has completed inside the wait under way; 0: there is none.
  std::chrono::milliseconds unresponsive_time() const;

 private:
  using Clock = std::chrono::steady_clock;
  void look_round(const WaitedCall& call);
  void rest();
  [[noreturn]] void stalled(const WaitedCall& call);

  Transport& transport_;
  std::chrono::milliseconds stall_;
  Warn warn_;
  std::uint64_t work_ = 0;
  bool memory_ = false;

  Clock::duration unresponsive_{};  ///< of this wait
  int rounds_ = 0;                  ///< stall times that have passed without progress
  int calls_ = 0;                   ///< liveness probes of this round
  std::uint32_t since_ = 0;         ///< number of the first of them
  bool warned_ = false;             ///< since the last progress
};

/// "1.5 s"
std::string seconds_text(std::chrono::steady_clock::duration d);

}  // namespace thalweg::engine::comm
