// Who answers questions to Slurm (daemon/slurm_agent/protocol.md).
#pragma once

#include <utility>  // boost 1.74's awaitable.hpp needs it first

#include <boost/asio/awaitable.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/clock.h"

namespace thalweg::daemon {

/// All of it on one single-threaded executor.
class SlurmAgent {
 public:
  struct Reply {
    std::optional<nlohmann::json> answer;
    bool sent = false;            ///< false: the agent never saw the question
    std::string problem;          ///< where there is no answer: why, for people
    bool never_answered = false;  ///< the agent's process ended without ever having answered
  };

  virtual ~SlurmAgent() = default;
  /// Sends the question (its `id` is set here) and waits for the answer. Does not throw.
  virtual boost::asio::awaitable<Reply> ask(nlohmann::json question, Clock::duration limit) = 0;
  /// Questions under way are answered with a problem, later ones too.
  virtual void close() = 0;
};

}  // namespace thalweg::daemon
