// Tells when processes end, as soon as they do: a look at them need not wait for its turn.
#pragma once

#include <sys/types.h>

#include <utility>  // boost 1.74's awaitable.hpp needs it first

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>

namespace thalweg::daemon {

/// Single-threaded, as backends are. Where the kernel has no pidfds (before Linux 5.3) it tells
/// nothing.
class EndWatch {
 public:
  EndWatch();
  ~EndWatch();
  EndWatch(const EndWatch&) = delete;
  EndWatch& operator=(const EndWatch&) = delete;

  /// Called on the executor when a process has ended; an empty one ends all watching.
  void call(boost::asio::any_io_executor executor, std::function<void()> when_ended);
  /// The process of the attempt with this token; of each attempt one, and its end is told once.
  void add(const std::string& token, pid_t pid);
  void remove(const std::string& token);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace thalweg::daemon
