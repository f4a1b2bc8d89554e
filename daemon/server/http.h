// A request and its answer as the endpoints see them; Beast stays in server.cpp.
#pragma once

#include <utility>  // boost 1.74's awaitable.hpp needs it first

#include <sys/types.h>

#include <boost/asio/awaitable.hpp>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "jobspec/diagnostic.h"

namespace thalweg::daemon {

struct Request {
  std::string method, path;  ///< path decoded, without the query
  std::map<std::string, std::string> query;
  std::map<std::string, std::string> parts;  ///< what stood for {name} in the endpoint's pattern
  std::string bearer;                        ///< the secret of "Authorization: Bearer ..."
  std::string body;
  /// Set by find_endpoint(): it changes nothing, so whom a sweep is shared with may ask.
  bool read_only = false;
  uid_t user = 0;  ///< who asks; over TCP always our own user, proven by nothing
};

struct Response {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  std::map<std::string, std::string> headers;
};

/// To the engine of an attempt that the controller has given up: 410, with `fenced`. It ends
/// itself.
Response given_up_response();
Response json_response(const nlohmann::json& body, int status = 200);
Response error_response(int status, const std::string& message,
                        const std::vector<jobspec::Diagnostic>& diagnostics = {});

/// Thrown by endpoints for what the asker did wrong, and for what is not there.
class HttpError : public std::runtime_error {
 public:
  HttpError(int code, const std::string& message)
      : std::runtime_error(without_nul(message)), status(code) {}
  int status;

 private:
  /// what() ends at one, and messages quote what somebody sent.
  static std::string without_nul(std::string message) {
    for (std::size_t at; (at = message.find('\0')) != std::string::npos;)
      message.replace(at, 1, "\\0");
    return message;
  }
};

/// Where a streaming endpoint writes.
class EventSink {
 public:
  virtual ~EventSink() = default;
  /// False when the other side has gone or does not read. `text` must live until then.
  virtual boost::asio::awaitable<bool> send(std::string_view text) = 0;
};

}  // namespace thalweg::daemon
