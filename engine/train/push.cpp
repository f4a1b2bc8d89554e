#include "engine/train/push.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace thalweg::engine {
namespace {

using namespace std::chrono_literals;

// A controller that does not answer costs nothing but these lines: some hundred metrics.
constexpr std::size_t kMostBytesWaiting = std::size_t{1} << 20;
constexpr auto kGather = 100ms;  // lines written together travel together
constexpr auto kAfterTrouble = 5s;
constexpr auto kPatience = 1000ms;  // of one connect, send or receive

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int get() const { return descriptor_; }
  int release() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_;
};

bool wait_for(int descriptor, short events) {
  pollfd p{descriptor, events, 0};
  return ::poll(&p, 1, static_cast<int>(kPatience.count())) == 1;
}

bool finish_connect(int descriptor, const sockaddr* address, socklen_t length) {
  if (::connect(descriptor, address, length) == 0) return true;
  if (errno != EINPROGRESS || !wait_for(descriptor, POLLOUT)) return false;
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

bool send_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0)
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    else if (errno != EINTR && !((errno == EAGAIN) && wait_for(descriptor, POLLOUT)))
      return false;
  }
  return true;
}

/// "HTTP/1.1 200 ..." -> 200; the rest of the answer is of no interest. 0 where none came.
int answered(int descriptor) {
  std::string answer;
  while (answer.size() < 12) {
    char part[256];
    if (!wait_for(descriptor, POLLIN)) return 0;
    const ssize_t got = ::recv(descriptor, part, sizeof part, 0);
    if (got <= 0) return 0;
    answer.append(part, static_cast<std::size_t>(got));
  }
  int code = 0;
  if (answer.compare(0, 7, "HTTP/1.") == 0)
    std::from_chars(answer.data() + 9, answer.data() + 12, code);
  return code;
}

}  // namespace

Push::Push(const std::string& target, std::string secret, std::function<void()> given_up)
    : secret_(std::move(secret)), given_up_(std::move(given_up)) {
  constexpr std::string_view kUnix = "unix:", kHttp = "http://";
  const std::size_t colon = target.rfind(':');
  if (target.starts_with(kUnix) && target.size() > kUnix.size()) {
    path_ = target.substr(kUnix.size());
    if (path_.size() >= sizeof(sockaddr_un::sun_path))
      throw std::invalid_argument("push: the socket's path is too long: " + path_);
  } else if (target.starts_with(kHttp) && colon > kHttp.size() && colon + 1 < target.size()) {
    host_ = target.substr(kHttp.size(), colon - kHttp.size());
    port_ = target.substr(colon + 1);
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
  if (waiting_.size() + line.size() > kMostBytesWaiting) return;
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

int Push::connect() const {
  constexpr int kFlags = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
  if (!path_.empty()) {
    Socket socket(::socket(AF_UNIX, kFlags, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.c_str(), path_.size());
    const bool open =
        socket.get() >= 0 &&
        finish_connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    return open ? socket.release() : -1;
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* addresses = nullptr;
  if (::getaddrinfo(host_.c_str(), port_.c_str(), &hints, &addresses) != 0) return -1;
  int found = -1;
  for (const addrinfo* a = addresses; a != nullptr && found < 0; a = a->ai_next) {
    Socket socket(::socket(a->ai_family, kFlags, 0));
    if (socket.get() >= 0 && finish_connect(socket.get(), a->ai_addr, a->ai_addrlen))
      found = socket.release();
  }
  ::freeaddrinfo(addresses);
  return found;
}

bool Push::post(const std::string& body) const {
  const Socket socket(connect());
  if (socket.get() < 0) return false;
  const std::string head =
      "POST /v1/push HTTP/1.1\r\nHost: " + (host_.empty() ? "localhost" : host_) +
      "\r\nAuthorization: Bearer " + secret_ +
      "\r\nContent-Type: application/jsonl\r\nConnection: close\r\nContent-Length: " +
      std::to_string(body.size()) + "\r\n\r\n";
  if (!send_all(socket.get(), head) || !send_all(socket.get(), body)) return false;
  constexpr int kGone = 410;
  const int code = answered(socket.get());
  if (code == kGone && given_up_) given_up_();
  return code / 100 == 2;
}

}  // namespace thalweg::engine
