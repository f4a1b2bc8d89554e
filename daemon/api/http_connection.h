// A blocking HTTP/1.1 connection over a Unix socket: just what the controller's own answers need
// (Content-Length or read-until-close). Plain sockets, because Beast would double the CLI's build.
#pragma once

#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>

namespace thalweg::daemon::api {

struct HttpAnswer {
  int status = 0;
  std::map<std::string, std::string> headers;  ///< names in lower case
  std::string body;
};

/// The connection broke; `answered` says whether any byte of an answer had come.
class ConnectionLost : public std::runtime_error {
 public:
  ConnectionLost(const std::string& message, bool some_answer)
      : std::runtime_error(message), answered(some_answer) {}
  bool answered;
};

class HttpConnection {
 public:
  /// Throws ConnectionLost where nobody listens. Waits at most `timeout_s` for any single byte.
  HttpConnection(const std::filesystem::path& socket, double timeout_s);
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  void send(const std::string& method, const std::string& path, const std::string& body);
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

  int fd_ = -1;
  std::string buffer_;
};

}  // namespace thalweg::daemon::api
