// A process that answers lines of JSON (daemon/slurm_agent/protocol.md): a child, started when it
// is needed, and again when it ended; or a service that listens on a socket, connected to when it
// is needed, and again when the connection ended. Every question has a time limit.
#pragma once

#include <utility>  // boost 1.74's awaitable.hpp needs it first

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "daemon/backend/slurm_agent.h"
#include "daemon/backend/timer.h"

namespace thalweg::daemon {

/// All of it on one single-threaded executor. Owned by shared_ptr: its coroutines hold it while
/// they end.
class AgentLink : public SlurmAgent, public std::enable_shared_from_this<AgentLink> {
 public:
  /// A service's socket; of a path, so that it is no list of arguments.
  struct Service {
    std::string socket;
  };

  AgentLink(boost::asio::any_io_executor executor, std::vector<std::string> arguments);
  AgentLink(boost::asio::any_io_executor executor, Service service);
  ~AgentLink() override;
  AgentLink(const AgentLink&) = delete;
  AgentLink& operator=(const AgentLink&) = delete;

  boost::asio::awaitable<Reply> ask(nlohmann::json question, Clock::duration limit) override;
  /// Ends the agent.
  void close() override;
  /// Of the running child, -1 where there is none.
  int pid() const { return pid_; }

 private:
  struct Pending {
    explicit Pending(const boost::asio::any_io_executor& executor) : timer(executor) {}
    Timer timer;
    Reply reply;
  };
  using Socket = boost::asio::local::stream_protocol::socket;

  bool ensure_started(std::string& problem);
  int start(std::string& problem);
  int connect(std::string& problem);
  int spawn(int child_end);
  boost::asio::awaitable<void> read(std::shared_ptr<Socket> socket);
  boost::asio::awaitable<void> write(std::shared_ptr<Socket> socket);
  void take(const std::string& line);
  void lose(const std::shared_ptr<Socket>& socket, const std::string& why);
  boost::asio::awaitable<void> reap(int pid);

  boost::asio::any_io_executor executor_;
  std::vector<std::string> arguments_;  ///< of the child; empty: a service
  Service service_;
  std::shared_ptr<Socket> socket_;  ///< empty: no agent runs
  int pid_ = -1;
  bool closed_ = false, writing_ = false, answered_ = false;
  std::string outbox_;
  std::uint64_t last_id_ = 0;
  int late_ = 0;  ///< questions in a row without an answer in time
  std::map<std::uint64_t, std::shared_ptr<Pending>> pending_;
  Clock::time_point not_before_{};
  Clock::duration pause_{};
};

}  // namespace thalweg::daemon
