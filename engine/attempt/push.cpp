// Each batch of lines has a connection of its own: a controller that is started anew is found by
// the next one.
#include "engine/attempt/push.h"

#include <chrono>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace thalweg::engine {
namespace {

using namespace std::chrono_literals;

// A controller that does not answer costs nothing but these lines: some hundred metrics.
constexpr std::size_t kMaxBytesWaiting = std::size_t{1} << 20;
constexpr auto kGather = 100ms;  // lines written together travel together
constexpr auto kAfterTrouble = 5s;
constexpr double kTimeoutSeconds = 1;  // of one connect, send or receive

}  // namespace

Push::Push(const std::string& target, std::string secret, std::function<void()> given_up)
    : secret_(std::move(secret)), given_up_(std::move(given_up)) {
  constexpr std::string_view kUnix = "unix:", kHttp = "http://";
  const std::size_t colon = target.rfind(':');
  if (target.starts_with(kUnix) && target.size() > kUnix.size()) {
    controller_.socket = target.substr(kUnix.size());
    if (controller_.socket.native().size() > kMaxSocketPath)
      throw std::invalid_argument("push: the socket's path is too long: " +
                                  controller_.socket.string());
  } else if (target.starts_with(kHttp) && colon > kHttp.size() && colon + 1 < target.size()) {
    controller_.host = target.substr(kHttp.size(), colon - kHttp.size());
    controller_.port = target.substr(colon + 1);
  } else {
    throw std::invalid_argument("push: found \"" + target +
                                "\", expected unix:/path or http://host:port");
  }
  thread_ = std::thread([this] { serve(); });
}

Push::~Push() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Push::add(const std::string& line) {
  const std::lock_guard lock(mutex_);
  if (waiting_.size() + line.size() > kMaxBytesWaiting) return;
  waiting_ += line;
  changed_.notify_all();
}

void Push::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stop_ || !waiting_.empty(); });
    if (!stop_) changed_.wait_for(lock, kGather, [&] { return stop_; });
    const bool last = stop_;
    const std::string body = std::exchange(waiting_, {});
    lock.unlock();
    const bool sent = body.empty() || post(body);
    lock.lock();
    if (last) return;
    if (!sent) changed_.wait_for(lock, kAfterTrouble, [&] { return stop_; });
  }
}

bool Push::post(const std::string& body) const {
  constexpr int kGone = 410;
  try {
    HttpConnection connection(controller_, kTimeoutSeconds);
    connection.send("POST", "/v1/push",
                    {{"Authorization", "Bearer " + secret_},
                     {"Content-Type", "application/jsonl"},
                     {"Connection", "close"}},
                    body);
    const int status = connection.receive_head().status;
    if (status == kGone && given_up_) given_up_();
    return status / 100 == 2;
  } catch (const ConnectionLost&) {
    return false;
  }
}

}  // namespace thalweg::engine
