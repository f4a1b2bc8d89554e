// Socket activation: systemd binds controller.sock and starts thalwegd at the first connection; the
// connection waits in the socket meanwhile. READY=1 makes `systemctl start` wait for an answering
// controller, and fail where it does not come up.
#include "daemon/server/systemd.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace thalweg::daemon {

namespace {

constexpr int first_fd = 3;  // SD_LISTEN_FDS_START

std::string take_variable(const char* name) {
  const char* text = std::getenv(name);
  std::string value = text != nullptr ? text : "";
  unsetenv(name);
  return value;
}

int option(int fd, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  return getsockopt(fd, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

}  // namespace

Systemd Systemd::take_environment() {
  Systemd result;
  const std::string process = take_variable("LISTEN_PID"), count = take_variable("LISTEN_FDS");
  take_variable("LISTEN_FDNAMES");
  result.notify_address_ = take_variable("NOTIFY_SOCKET");
  if (process != std::to_string(getpid()) || count.empty() || count == "0") return result;
  fcntl(first_fd, F_SETFD, FD_CLOEXEC);
  result.sockets_ = count;
  return result;
}

std::optional<int> Systemd::socket(const std::filesystem::path& expected) const {
  if (sockets_.empty()) return {};
  if (sockets_ != "1")
    throw WrongSocket("systemd handed over " + sockets_ + " sockets; thalwegd takes one");
  sockaddr_un address{};
  socklen_t size = sizeof address;
  const bool listens = option(first_fd, SO_DOMAIN) == AF_UNIX &&
                       option(first_fd, SO_TYPE) == SOCK_STREAM &&
                       option(first_fd, SO_ACCEPTCONN) == 1;
  if (!listens || getsockname(first_fd, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw WrongSocket("what systemd handed over is not a listening Unix socket");
  const std::string path(address.sun_path, strnlen(address.sun_path, sizeof address.sun_path));
  if (std::filesystem::path(path).lexically_normal() != expected.lexically_normal())
    throw WrongSocket("systemd listens at '" + path + "', but this home's socket is " +
                      expected.string() + ": make ListenStream= and THALWEG_HOME agree");
  return first_fd;
}

void Systemd::notify(const std::string& state) const {
  sockaddr_un address{};
  if (notify_address_.empty() || notify_address_.size() >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  std::copy(notify_address_.begin(), notify_address_.end(), address.sun_path);
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  const auto size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + notify_address_.size());
  sendto(fd, state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
         reinterpret_cast<const sockaddr*>(&address), size);
  close(fd);
}

}  // namespace thalweg::daemon
