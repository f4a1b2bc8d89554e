// What ranks tell each other when nothing moves, and what a rank that waits makes of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/comm/liveness/waited_call.h"
#include "engine/comm/transport/transport.h"

namespace thalweg::engine::comm {

/// "How far are you with this call?"
struct ProbeQuestion {
  CallNumber number;
  std::string pack() const;
  static std::optional<ProbeQuestion> unpack(const std::string& bytes);
};

struct ProbeAnswer {
  enum class State : std::uint32_t { not_started, under_way, finished };
  State state = State::not_started;
  std::chrono::milliseconds unresponsive{};  ///< for how long nothing has completed there
  std::string call;                          ///< that call in its own words, while it is under way
  std::string doing;                         ///< what it waits in
  std::string pack() const;
  static std::optional<ProbeAnswer> unpack(const std::string& bytes);
};

/// Who keeps an operation from its end, as far as the answers tell.
class Verdict {
 public:
  /// From the answers to liveness probes of number `since` and later.
  Verdict(const Transport& transport, const WaitedCall& call, std::uint32_t since);

  /// Waiting longer is of no use: somebody does not answer, or calls something else, or those that
  /// have not joined have themselves waited for `stall` without any progress.
  bool hopeless(std::chrono::milliseconds stall) const;
  /// Of the rank that is the cause; -1: nobody.
  int failed_rank() const;
  /// "rank 1 on node a does not answer; rank 2 on node b has not joined it (it waits in barrier)"
  std::string text() const;

 private:
  struct Member {
    int rank;  ///< as the transport counts them
    ProbeAnswer answer;
  };
  std::string names(const std::vector<int>& ranks) const;

  const Transport& transport_;
  std::string call_;
  std::vector<Member> different_;  ///< it calls something else
  std::vector<int> absent_;        ///< it does not answer
  std::vector<Member> missing_;    ///< it has not joined
  std::vector<int> gone_on_;       ///< it has finished the operation
  std::vector<int> outsiders_;     ///< not of the group, and does not answer
};

}  // namespace thalweg::engine::comm
