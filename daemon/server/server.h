// HTTP/1.1 over the Unix socket (peer credentials) and, where configured, over TCP: for pushes
// only, and for users of a site on other machines (MUNGE). A bad request, a slow or a vanished
// client costs its own connection and nothing else; who may not ask is told so before a body is
// read.
#pragma once

#include <utility>  // boost 1.74's awaitable.hpp needs it first

#include <boost/asio/any_io_executor.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "daemon/server/app.h"

namespace thalweg::daemon {

struct ServerLimits {
  std::size_t body = 16 << 20;  ///< bytes of a request's body
  std::size_t header = 16 << 10;
  int network_connections = 256;  ///< the same for users on other machines
  double header_s = 10;   ///< for a request's header to arrive; also how long a connection may idle
  double request_s = 30;  ///< for a body to arrive, and for an answer to be taken
  int connections = 256;  ///< on the Unix socket; more are closed at once
  int tcp_connections = 256;  ///< the same over TCP: strangers there lock nobody out of the socket
};

class Server {
 public:
  Server(boost::asio::any_io_executor executor, App& app, ServerLimits limits = {});
  ~Server();

  /// Listens on a Unix socket (mode 0600, 0666 where a site is served); a stale socket file is
  /// replaced, so hold the home's lock first. Throws std::runtime_error with the remedy where the
  /// path is too long, std::system_error otherwise.
  void listen(const std::filesystem::path& socket);
  /// Answers on a Unix socket that listens already and belongs to somebody else: its file stays.
  void adopt(int listening_socket);
  /// Listens on "host:port" (port 0 = any), for pushes only. Gives the port.
  unsigned short listen_tcp(const std::string& address);
  /// Listens on "host:port" for users on other machines (network_door.h). Gives the port.
  unsigned short listen_network(const std::string& address);
  void stop();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace thalweg::daemon
