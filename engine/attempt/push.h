// Sends journal lines to the controller as they are written. The journal is the truth; this is only
// faster.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "base/http_connection.h"

namespace thalweg::engine {

/// Never blocks the caller and never fails: lines that cannot be sent in time are dropped.
class Push {
 public:
  /// `target` is "unix:/path" or "http://host:port"; throws std::invalid_argument on anything else.
  /// `secret` proves which attempt it is. `given_up` is called from the pushing thread when the
  /// controller answers that it has given the attempt up (410).
  Push(const std::string& target, std::string secret, std::function<void()> given_up = {});
  Push(const Push&) = delete;
  Push& operator=(const Push&) = delete;
  ~Push();  ///< tries for at most about a second to send the last lines

  void add(const std::string& line);

 private:
  void serve();
  bool post(const std::string& body) const;

  HttpAddress controller_;
  std::string secret_;
  std::function<void()> given_up_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string waiting_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace thalweg::engine
