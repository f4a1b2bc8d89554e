// A small HTTP/1.1 server on this machine's own address, for pages that a program shows its user:
// GET and HEAD, one request a connection. Plain sockets, as the client (http_connection.h).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"

namespace thalweg::cli {

struct HttpRequest {
  std::string method, target;
  std::map<std::string, std::string> headers;  ///< names in lower case; of several the last
};

struct HttpReply {
  int status = 200;
  std::string type = "text/plain; charset=utf-8", body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
};

/// Of one thread: requests are answered one after another, while slow clients keep nobody waiting.
/// A request whose head does not come within 10 s or is longer than 16 KiB is dropped, as is an
/// answer that is not taken for 30 s; of 64 connections the oldest makes room for a new one.
class HttpListener {
 public:
  using Handler = std::function<HttpReply(const HttpRequest&)>;

  /// Listens on 127.0.0.1 alone; port 0: a free one. Throws std::system_error (EADDRINUSE: another
  /// program has the port).
  explicit HttpListener(int port);
  int port() const { return port_; }

  /// For ever; a signal ends the process. What `answer` throws becomes status 500 with its text.
  [[noreturn]] void serve(const Handler& answer);

 private:
  struct Connection;
  void accept_all(std::vector<Connection>& connections);

  Descriptor listener_;
  int port_ = 0;
};

}  // namespace thalweg::cli
