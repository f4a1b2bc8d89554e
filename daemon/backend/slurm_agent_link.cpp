#include "daemon/backend/slurm_agent_link.h"

#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>

#include "base/process.h"
#include "daemon/api/messages.h"

namespace thalweg::daemon {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using nlohmann::json;

constexpr auto first_pause = std::chrono::milliseconds(200);
constexpr auto max_pause = std::chrono::seconds(30);
// All of a big cluster's jobs of one user: 100,000 of 300 bytes.
constexpr std::size_t max_answer = 64u << 20;
// After so many late answers in a row the agent is taken for stuck.
constexpr int patience = 3;

auto no_throw(error_code& error) {
  return asio::redirect_error(asio::use_awaitable, error);
}

}  // namespace

AgentLink::AgentLink(asio::any_io_executor executor, std::vector<std::string> arguments)
    : executor_(std::move(executor)), arguments_(std::move(arguments)) {}

AgentLink::AgentLink(asio::any_io_executor executor, Service service)
    : executor_(std::move(executor)), service_(std::move(service)) {}

AgentLink::~AgentLink() {
  close();
}

// The child: our end of the socket as its input and output, and a session of its own (a Ctrl-C in
// the controller's terminal is not for it).
int AgentLink::spawn(int child_end) {
  Spawn plan;
  posix_spawn_file_actions_adddup2(&plan.files, child_end, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&plan.files, child_end, STDOUT_FILENO);
  plan.close_private_files();
  try {
    pid_ = plan.start(arguments_, POSIX_SPAWN_SETSID);
    return 0;
  } catch (const std::system_error& e) {
    pid_ = -1;
    return e.code().value();
  }
}

// Our end of the socket, -1 where it does not start.
int AgentLink::start(std::string& problem) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    problem = std::string("no socket for the Slurm agent: ") + std::strerror(errno);
    return -1;
  }
  const int error = spawn(ends[1]);
  ::close(ends[1]);
  if (error == 0) return ends[0];
  ::close(ends[0]);
  problem = "cannot start " + arguments_[0] + ": " + std::strerror(error);
  return -1;
}

// Does not wait: where the service's queue is full, that is a problem like any other.
int AgentLink::connect(std::string& problem) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& path = service_.socket;
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (path.size() >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
  } else {
    std::memcpy(address.sun_path, path.c_str(), path.size());
    if (fd >= 0 && ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0)
      return fd;
  }
  problem = "cannot reach the Slurm agent at " + path + ": " + std::strerror(errno) +
            "; see systemctl status thalweg-slurm-agent";
  if (fd >= 0) ::close(fd);
  return -1;
}

bool AgentLink::ensure_started(std::string& problem) {
  if (socket_) return true;
  const auto now = Clock::now();
  if (closed_ || now < not_before_) {
    problem = closed_              ? "the Slurm agent is being ended"
              : arguments_.empty() ? "the Slurm agent is out of reach and is tried again soon"
                                   : "the Slurm agent ended and is started again soon";
    return false;
  }
  pause_ = std::clamp<Clock::duration>(pause_ * 2, first_pause, max_pause);
  not_before_ = now + pause_;
  const int fd = arguments_.empty() ? connect(problem) : start(problem);
  if (fd < 0) return false;
  socket_ = std::make_shared<Socket>(executor_, asio::local::stream_protocol(), fd);
  answered_ = writing_ = false;
  outbox_.clear();
  late_ = 0;
  asio::co_spawn(executor_, read(socket_), asio::detached);
  return true;
}

asio::awaitable<SlurmAgent::Reply> AgentLink::ask(json question, Clock::duration limit) {
  const auto self = shared_from_this();
  Reply failed;
  if (!ensure_started(failed.problem)) co_return failed;
  const std::uint64_t id = ++last_id_;
  question["id"] = id;
  auto pending = std::make_shared<Pending>(executor_);
  pending->reply.sent = true;
  pending_[id] = pending;
  outbox_ += api::json_text(question) + "\n";
  if (!writing_) {
    writing_ = true;
    asio::co_spawn(executor_, write(socket_), asio::detached);
  }
  error_code error;
  pending->timer.expires_after(limit);
  co_await pending->timer.async_wait(no_throw(error));  // cancelled by take() and lose()
  pending_.erase(id);
  if (!pending->reply.answer && pending->reply.problem.empty()) {
    pending->reply.problem = "the Slurm agent did not answer in time";
    if (++late_ >= patience && socket_) lose(socket_, "the Slurm agent was stuck");
  }
  co_return std::move(pending->reply);
}

asio::awaitable<void> AgentLink::write(std::shared_ptr<Socket> socket) {
  const auto self = shared_from_this();
  while (socket == socket_ && !outbox_.empty()) {
    const std::string block = std::exchange(outbox_, {});
    error_code error;
    co_await asio::async_write(*socket, asio::buffer(block), no_throw(error));
    if (error) lose(socket, "the Slurm agent ended");
  }
  if (socket == socket_) writing_ = false;
}

asio::awaitable<void> AgentLink::read(std::shared_ptr<Socket> socket) {
  const auto self = shared_from_this();
  std::string buffer;
  for (;;) {
    error_code error;
    const std::size_t length = co_await asio::async_read_until(
        *socket, asio::dynamic_buffer(buffer, max_answer), '\n', no_throw(error));
    if (error) break;
    take(buffer.substr(0, length));
    buffer.erase(0, length);
  }
  lose(socket, "the Slurm agent ended");
}

void AgentLink::take(const std::string& line) {
  json answer = json::parse(line, nullptr, false);
  if (!answer.is_object()) return;
  const auto id = answer.find("id");
  if (id == answer.end() || !id->is_number_unsigned()) return;
  late_ = 0;
  pause_ = {};  // it works: the next start needs no pause
  if (!std::exchange(answered_, true)) not_before_ = {};
  const auto pending = pending_.find(id->get<std::uint64_t>());
  if (pending == pending_.end()) return;  // too late, nobody waits
  pending->second->reply.answer = std::move(answer);
  pending->second->timer.cancel();
}

void AgentLink::lose(const std::shared_ptr<Socket>& socket, const std::string& why) {
  if (socket != socket_ || !socket) return;
  error_code ignored;
  socket->close(ignored);
  socket_.reset();
  for (auto& [id, pending] : pending_) {
    if (pending->reply.answer) continue;
    pending->reply.problem = why;
    pending->reply.never_answered = pid_ > 0 && !answered_;
    pending->timer.cancel();
  }
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    asio::co_spawn(executor_, reap(std::exchange(pid_, -1)), asio::detached);
  }
}

// The kill has been sent, the process is gone within milliseconds.
asio::awaitable<void> AgentLink::reap(int pid) {
  const auto self = shared_from_this();
  Timer timer(executor_);
  while (::waitpid(pid, nullptr, WNOHANG) == 0) {
    error_code ignored;
    timer.expires_after(std::chrono::milliseconds(20));
    co_await timer.async_wait(no_throw(ignored));
  }
}

void AgentLink::close() {
  closed_ = true;
  if (!socket_) return;
  error_code ignored;
  socket_->close(ignored);
  socket_.reset();
  for (auto& [id, pending] : pending_) {
    pending->reply.problem = "the Slurm agent is being ended";
    pending->timer.cancel();
  }
  if (pid_ < 0) return;
  // The executor may not run any more: wait here, it takes milliseconds.
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

}  // namespace thalweg::daemon
