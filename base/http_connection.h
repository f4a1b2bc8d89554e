// A blocking HTTP/1.1 client over a Unix socket or TCP: just what the controller's own answers need
// (Content-Length or read-until-close). Plain sockets, because Beast would double the CLI's build.
#pragma once

#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"

namespace thalweg {

/// The longest path that a Unix socket can have, in bytes.
constexpr std::size_t kMaxSocketPath = 107;

/// Where a server listens: a Unix socket, or host and port.
struct HttpAddress {
  std::filesystem::path socket;
  std::string host, port;
};

struct HttpAnswer {
  int status = 0;
  std::map<std::string, std::string> headers;  ///< names in lower case
  std::string body;
};

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

/// The connection broke; `answered` says whether any byte of an answer had come.
class ConnectionLost : public std::runtime_error {
 public:
  ConnectionLost(const std::string& message, bool some_answer)
      : std::runtime_error(message), answered(some_answer) {}
  bool answered;
};

/// Of one thread. A signal that the thread handles meanwhile breaks nothing. All but the destructor
/// throw ConnectionLost.
class HttpConnection {
 public:
  /// Throws where nobody listens. Connecting, each send and each receive wait at most `timeout_s`.
  HttpConnection(const HttpAddress& address, double timeout_s);
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  /// Host and, but for GET, Content-Length are added to `headers`.
  void send(const std::string& method, const std::string& path, const HttpHeaders& headers,
            const std::string& body);
  /// Reads a whole answer.
  HttpAnswer receive();
  /// Reads status and headers only; the body then comes through read_line() or
  /// receive_body().
  HttpAnswer receive_head();
  /// The rest of an answer whose head was read.
  void receive_body(HttpAnswer& answer);
  /// The next line of the body without its end; false where the other side has closed.
  bool read_line(std::string& line);

 private:
  bool fill();  ///< more bytes into buffer_; false at the end of the stream

  std::string host_;  ///< as the header says it
  Descriptor fd_;
  std::string buffer_;
};

}  // namespace thalweg
