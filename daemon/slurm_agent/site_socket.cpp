// Where the site's agent listens: a socket of systemd's, or one of its own; and its end by SIGTERM.
#include <fcntl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "daemon/slurm_agent/line_server.h"
#include "daemon/slurm_agent/log.h"
#include "daemon/slurm_agent/site.h"

namespace thalweg::slurm_agent {
namespace {

constexpr int first_handed_over = 3;  // SD_LISTEN_FDS_START

std::runtime_error problem(const std::string& what) {
  return std::runtime_error(what + ": " + std::strerror(errno));
}

/// The socket that systemd hands over (sd_listen_fds(3)); nothing where it does not.
Descriptor handed_over() {
  const char* pid = std::getenv("LISTEN_PID");
  const char* count = std::getenv("LISTEN_FDS");
  if (pid == nullptr || count == nullptr || pid != std::to_string(::getpid())) return {};
  if (std::strcmp(count, "1") != 0)
    throw std::runtime_error(std::string("systemd handed over ") + count + " sockets, not one");
  ::unsetenv("LISTEN_PID");
  ::unsetenv("LISTEN_FDS");
  int listens = 0;
  socklen_t size = sizeof listens;
  sockaddr_un address{};
  socklen_t length = sizeof address;
  Descriptor fd(::fcntl(first_handed_over, F_DUPFD_CLOEXEC, first_handed_over));
  ::close(first_handed_over);
  if (!fd || ::getsockopt(fd.get(), SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 ||
      listens == 0 ||
      ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0 ||
      address.sun_family != AF_UNIX)
    throw std::runtime_error("what systemd handed over is no listening Unix socket");
  return fd;
}

/// 0660, of the service's group: nobody else gets as far as the check of who connects.
Descriptor own_socket(const SiteOptions& options, gid_t group) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (options.socket.size() >= sizeof address.sun_path)
    throw std::runtime_error("--socket " + options.socket + " is too long a path for a socket");
  std::memcpy(address.sun_path, options.socket.c_str(), options.socket.size());
  Descriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) throw problem("socket");
  ::unlink(options.socket.c_str());
  const mode_t before = ::umask(0177);
  const int bound = ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  const int error = errno;
  ::umask(before);
  errno = error;
  if (bound != 0) throw problem("cannot listen at " + options.socket);
  if (::chown(options.socket.c_str(), static_cast<uid_t>(-1), group) != 0 ||
      ::chmod(options.socket.c_str(), 0660) != 0)
    throw problem("cannot give " + options.socket + " to the group of " + options.service_user);
  if (::listen(fd.get(), 16) != 0) throw problem("cannot listen at " + options.socket);
  return fd;
}

/// Readable after SIGTERM or SIGINT. Before any thread starts, so that none gets them.
Descriptor stop_signal() {
  sigset_t ends;
  ::sigemptyset(&ends);
  ::sigaddset(&ends, SIGTERM);
  ::sigaddset(&ends, SIGINT);
  ::sigprocmask(SIG_BLOCK, &ends, nullptr);
  Descriptor fd(::signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) throw problem("signalfd");
  return fd;
}

}  // namespace

int serve_site(const SiteOptions& options) {
  try {
    ::umask(0077);
    Descriptor listening = handed_over();
    const Descriptor stop = stop_signal();
    // Not destroyed: at the end a worker may be inside a call.
    static SiteAgent* const agent = new SiteAgent(options);
    if (!listening) listening = own_socket(options, agent->service().gid);
    log_line("serves " + options.service_user + " (uid " + std::to_string(agent->service().uid) +
             "); for users from uid " + std::to_string(options.min_uid) + " on");
    LineServer server({}, [](const std::string& line) {
      return answer_line(line, [](const nlohmann::json& asked) { return agent->answer(asked); });
    });
    server.serve(listening.get(), agent->service().uid, stop.get());
    log_line("ends");
    return 0;
  } catch (const std::exception& error) {
    log_line(error.what());
    return 2;
  }
}

}  // namespace thalweg::slurm_agent
