// A pidfd becomes readable when its process ends, whoever started it.
#include "daemon/backend/end_watch.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <map>
#include <optional>

namespace thalweg::daemon {

namespace asio = boost::asio;

struct EndWatch::State {
  asio::any_io_executor executor;
  std::function<void()> when_ended;
  /// Empty where the end was told: what stays a zombie for others is not told again.
  std::map<std::string, std::optional<asio::posix::stream_descriptor>> by_token;
};

EndWatch::EndWatch() : state_(std::make_shared<State>()) {}
EndWatch::~EndWatch() = default;

void EndWatch::call(asio::any_io_executor executor, std::function<void()> when_ended) {
  if (!when_ended) state_->by_token.clear();
  state_->executor = std::move(executor);
  state_->when_ended = std::move(when_ended);
}

void EndWatch::add(const std::string& token, pid_t pid) {
  if (!state_->when_ended || state_->by_token.contains(token)) return;
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return;
  auto& descriptor = state_->by_token[token];
  descriptor.emplace(state_->executor, fd);
  descriptor->async_wait(asio::posix::stream_descriptor::wait_read,
                         [weak = std::weak_ptr<State>(state_), token](const auto& error) {
                           const auto state = weak.lock();
                           if (error || !state) return;
                           if (const auto it = state->by_token.find(token);
                               it != state->by_token.end())
                             it->second.reset();
                           if (state->when_ended) state->when_ended();
                         });
}

void EndWatch::remove(const std::string& token) {
  state_->by_token.erase(token);
}

}  // namespace thalweg::daemon
