// One thread does all input and output (poll), workers answer.
#include "daemon/slurm_agent/line_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/file.h"
#include "daemon/slurm_agent/log.h"

namespace thalweg::slurm_agent {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int tick_ms = 250;  // time limits are looked at so often

struct Line {
  std::uint64_t connection = 0;
  std::string text;
};

struct Connection {
  Descriptor fd;
  std::string in, out;
  std::size_t searched = 0;  ///< of `in`, without an end of line
  std::size_t pending = 0;   ///< lines under way
  Clock::time_point line_began{}, read_last{};
};

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

struct LineServer::Shared {
  Shared(LineLimits limited, Answer answers) : limits(limited), answer(std::move(answers)) {
    woken = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!woken) fail("eventfd");
  }

  void work() {
    for (;;) {
      std::unique_lock lock(mutex);
      wake.wait(lock, [&] { return !waiting.empty(); });
      Line line = std::move(waiting.front());
      waiting.pop_front();
      lock.unlock();
      line.text = answer(line.text);
      lock.lock();
      done.push_back(std::move(line));
      lock.unlock();
      const std::uint64_t one = 1;
      [[maybe_unused]] const ssize_t n = ::write(woken.get(), &one, sizeof one);
    }
  }
  void push(Line line) {
    std::lock_guard lock(mutex);
    waiting.push_back(std::move(line));
    wake.notify_one();
  }
  std::vector<Line> take_done() {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t n = ::read(woken.get(), &count, sizeof count);
    std::lock_guard lock(mutex);
    return std::exchange(done, {});
  }

  LineLimits limits;
  Answer answer;
  Descriptor woken;
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<Line> waiting;
  std::vector<Line> done;
};

/// The connections, and what one round of poll does with them.
class LineServer::Loop {
 public:
  Loop(Shared& shared, int listening, uid_t only)
      : shared_(shared), limits_(shared.limits), listening_(listening), only_(only) {}

  /// False where `stop` can be read from.
  bool round(int stop) {
    std::vector<pollfd> wait{
        {stop, POLLIN, 0}, {shared_.woken.get(), POLLIN, 0}, {listening_, POLLIN, 0}};
    std::vector<std::uint64_t> ids;
    for (auto& [id, connection] : connections_) {
      const bool read = connection.pending < limits_.pending && connection.out.empty();
      const bool write = !connection.out.empty();
      wait.push_back({connection.fd.get(),
                      static_cast<short>((read ? POLLIN : 0) | (write ? POLLOUT : 0)), 0});
      ids.push_back(id);
    }
    if (::poll(wait.data(), wait.size(), tick_ms) < 0 && errno != EINTR) fail("poll");
    if (wait[0].revents != 0) return false;
    for (Line& line : shared_.take_done())
      deliver(std::move(line));
    for (std::size_t i = 0; i < ids.size(); ++i)
      attend(ids[i], wait[i + 3].revents);
    if (wait[2].revents != 0) admit();
    return true;
  }

 private:
  void admit() {
    Descriptor fd(::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) return;
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.uid != only_) {
      log_line("refused: a connection of uid " + std::to_string(peer.uid) + " (process " +
               std::to_string(peer.pid) + "): only uid " + std::to_string(only_) + " may ask");
      return;
    }
    if (connections_.size() >= limits_.connections) {
      log_line("refused: a connection of process " + std::to_string(peer.pid) + ": there are " +
               std::to_string(limits_.connections) + " already");
      return;
    }
    Connection& fresh = connections_[++last_];
    fresh.fd = std::move(fd);
    fresh.read_last = Clock::now();
  }

  void deliver(Line line) {
    const auto found = connections_.find(line.connection);
    if (found == connections_.end()) return;  // gone in the meantime
    Connection& connection = found->second;
    --connection.pending;
    if (connection.out.empty()) connection.read_last = Clock::now();
    connection.out += line.text;
    if (connection.out.size() > limits_.unread) close(line.connection, "does not read its answers");
  }

  void attend(std::uint64_t id, short events) {
    const auto found = connections_.find(id);
    if (found == connections_.end()) return;
    Connection& connection = found->second;
    const auto now = Clock::now();
    if ((events & POLLOUT) != 0 && !send(connection, now)) return close(id, nullptr);
    if ((events & (POLLIN | POLLHUP | POLLERR)) != 0 && !receive(connection, now)) {
      if (connection.in.size() <= limits_.line) return close(id, nullptr);
    }
    dispatch(id, connection, now);
    if (connection.in.size() > limits_.line)
      return close(id, "sent a line of more than " + std::to_string(limits_.line) + " bytes");
    const bool partial = !connection.in.empty() && connection.pending < limits_.pending;
    if (partial && now - connection.line_began > limits_.line_time)
      return close(id, "sent part of a line and no more");
    if (!connection.out.empty() && now - connection.read_last > limits_.unread_time)
      close(id, "does not read its answers");
  }

  static bool send(Connection& connection, Clock::time_point now) {
    const ssize_t n = ::send(connection.fd.get(), connection.out.data(), connection.out.size(),
                             MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    connection.out.erase(0, static_cast<std::size_t>(n));
    connection.read_last = now;
    return true;
  }

  /// False at the end of the connection.
  static bool receive(Connection& connection, Clock::time_point now) {
    char block[65536];
    const ssize_t n = ::recv(connection.fd.get(), block, sizeof block, MSG_DONTWAIT);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    if (connection.in.empty()) connection.line_began = now;
    connection.in.append(block, static_cast<std::size_t>(n));
    return n > 0;
  }

  void dispatch(std::uint64_t id, Connection& connection, Clock::time_point now) {
    std::size_t begin = 0;
    while (connection.pending < limits_.pending) {
      const std::size_t end = connection.in.find('\n', std::max(begin, connection.searched));
      if (end == std::string::npos) {
        connection.searched = connection.in.size();
        break;
      }
      if (end > begin) {
        shared_.push({id, connection.in.substr(begin, end - begin)});
        ++connection.pending;
      }
      begin = connection.searched = end + 1;
      connection.line_began = now;
    }
    connection.in.erase(0, begin);
    connection.searched -= std::min(connection.searched, begin);
  }

  void close(std::uint64_t id, const std::string& why) {
    log_line("refused: closes a connection that " + why);
    connections_.erase(id);
  }
  void close(std::uint64_t id, std::nullptr_t) { connections_.erase(id); }

  Shared& shared_;
  const LineLimits& limits_;
  int listening_;
  uid_t only_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, Connection> connections_;
};

LineServer::LineServer(LineLimits limits, Answer answer)
    : shared_(new Shared(limits, std::move(answer))) {
  for (std::size_t i = 0; i < limits.workers; ++i)
    std::thread([shared = shared_] { shared->work(); }).detach();
}

// A worker may be inside a call for as long as a minute: what it needs stays.
LineServer::~LineServer() = default;

void LineServer::serve(int listening, uid_t only, int stop) {
  ::fcntl(listening, F_SETFL, ::fcntl(listening, F_GETFL) | O_NONBLOCK);
  Loop loop(*shared_, listening, only);
  while (loop.round(stop)) {
  }
}

}  // namespace thalweg::slurm_agent
