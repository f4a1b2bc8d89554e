// What systemd hands to the services it starts: a listening socket, and an address that wants to
// know when they answer. Its protocols are stable and small, so libsystemd is not needed.
#pragma once

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>

namespace thalweg::daemon {

/// The unit hands over something else than this controller's socket.
struct WrongSocket : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// sd_listen_fds(3) and sd_notify(3) for one process. Taken once, before anything is started: the
/// variables are removed, so that attempts do not take them for theirs. Used by one thread.
class Systemd {
 public:
  Systemd() = default;  ///< not started by systemd
  static Systemd take_environment();

  /// The listening socket. Throws WrongSocket where there is anything but one listening Unix socket
  /// at `expected`: clients would look for it elsewhere.
  std::optional<int> socket(const std::filesystem::path& expected) const;
  /// "READY=1", "STOPPING=1"; nothing where nobody asked, or where they do not listen any more.
  void notify(const std::string& state) const;

 private:
  std::string sockets_;         ///< how many were handed over; empty: none
  std::string notify_address_;  ///< of a datagram socket; '@' first: an abstract one
};

}  // namespace thalweg::daemon
