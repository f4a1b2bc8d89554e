// Of two ranks the higher one connects; each must show the other's secret.
#include "engine/comm/transport/socket/connection_table.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <list>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "engine/comm/transport/socket/interfaces.h"

namespace thalweg::engine::comm {
namespace {

using Clock = std::chrono::steady_clock;

// An address that leads nowhere (a bridge of containers, say) is given up after this.
constexpr std::chrono::seconds kOneAddress{3};
constexpr std::chrono::seconds kAll{60};
constexpr int kNapMs = 20;
constexpr std::size_t kSecret = 16;

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

/// What the one who connects says first. It is answered with its own secret.
struct Greeting {
  char magic[8];
  char secret[kSecret];  ///< of the one who listens
  std::uint32_t rank;
  std::uint32_t stream;
};
constexpr char kMagic[8] = {'t', 'h', 'a', 'l', 'w', 'e', 'g', '1'};

struct Place {
  int port = 0;
  std::string secret;
  std::vector<Address> addresses;
};

std::string hex(const std::string& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte / 16];
    text += kDigits[byte % 16];
  }
  return text;
}

std::string unhex(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

Place parse_place(const std::string& text) {
  Place place;
  std::istringstream words(text);
  std::string secret;
  words >> place.port >> secret;
  place.secret = unhex(secret);
  for (std::string address; words >> address;) {
    place.addresses.push_back(parse_address(address));
  }
  if (place.secret.size() != kSecret || place.addresses.empty()) {
    throw std::runtime_error("a peer's place is not understood: " + text);
  }
  return place;
}

Descriptor new_socket(int family) {
  return Descriptor(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

/// On all interfaces, IPv6 and IPv4 where the kernel has both.
Descriptor listen_anywhere() {
  const int off = 0;
  Descriptor listener = new_socket(AF_INET6);
  sockaddr_in6 any6{};
  any6.sin6_family = AF_INET6;
  sockaddr_in any{};
  any.sin_family = AF_INET;
  const bool six = listener &&
                   ::setsockopt(listener.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) == 0 &&
                   ::bind(listener.get(), reinterpret_cast<sockaddr*>(&any6), sizeof any6) == 0;
  if (!six) {
    listener = new_socket(AF_INET);
    if (!listener) fail("socket");
    if (::bind(listener.get(), reinterpret_cast<sockaddr*>(&any), sizeof any) != 0) fail("bind");
  }
  if (::listen(listener.get(), SOMAXCONN) != 0) fail("listen");
  return listener;
}

int port_of(const Descriptor& listener) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    fail("getsockname");
  }
  return ntohs(address.ss_family == AF_INET ? reinterpret_cast<sockaddr_in&>(address).sin_port
                                            : reinterpret_cast<sockaddr_in6&>(address).sin6_port);
}

/// A socket per peer and stream, and UCX has its own.
void allow_many_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// -1: not yet; 0: the connection is no good; else how many bytes there are now.
ssize_t read_some(const Descriptor& socket, void* into, std::size_t have, std::size_t want) {
  const ssize_t n =
      ::recv(socket.get(), static_cast<char*>(into) + have, want - have, MSG_DONTWAIT);
  if (n < 0) return errno == EAGAIN || errno == EINTR ? -1 : 0;
  return n == 0 ? 0 : static_cast<ssize_t>(have) + n;
}

bool write_all(const Descriptor& socket, const void* from, std::size_t bytes) {
  // A few bytes on a fresh connection always fit.
  return ::send(socket.get(), from, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(bytes);
}

/// A connection that this rank makes.
class Call {
 public:
  Call(int rank, int stream, const Place& theirs, const Place& ours)
      : rank_(rank), stream_(stream), theirs_(theirs), ours_(ours) {
    // A peer in the same subnet is reached there and not by a detour.
    for (std::size_t i = 0; i < theirs.addresses.size(); ++i) {
      for (const auto& own : ours.addresses) {
        if (!same_subnet(theirs.addresses[i], own)) continue;
        next_ = i;
        return;
      }
    }
  }

  int rank() const { return rank_; }
  int stream() const { return stream_; }
  pollfd interest() const {
    return {socket_.get(), static_cast<short>(greeted_ ? POLLIN : POLLOUT), 0};
  }

  /// The connection, once it is made; `self`: this rank.
  Descriptor advance(int self) {
    if (!socket_ || Clock::now() > deadline_) dial();
    if (socket_ && !greeted_) greet(self);
    if (socket_ && greeted_) {
      const ssize_t n = read_some(socket_, answer_, have_, sizeof answer_);
      if (n == 0) socket_ = Descriptor();
      if (n > 0) have_ = static_cast<std::size_t>(n);
      if (have_ == sizeof answer_) {
        have_ = 0;
        if (ours_.secret.compare(0, kSecret, answer_, kSecret) == 0) return std::move(socket_);
        socket_ = Descriptor();
      }
    }
    return {};
  }

 private:
  void dial() {
    const auto address =
        with_port(theirs_.addresses[next_++ % theirs_.addresses.size()], theirs_.port);
    socket_ = new_socket(address.ss_family);
    greeted_ = false;
    have_ = 0;
    deadline_ = Clock::now() + kOneAddress;
    if (!socket_) fail("socket");
    if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), length_of(address)) !=
            0 &&
        errno != EINPROGRESS) {
      socket_ = Descriptor();
    }
  }

  void greet(int self) {
    pollfd writable{socket_.get(), POLLOUT, 0};
    if (::poll(&writable, 1, 0) != 1) return;
    Greeting greeting{};
    std::memcpy(greeting.magic, kMagic, sizeof kMagic);
    std::memcpy(greeting.secret, theirs_.secret.data(), kSecret);
    greeting.rank = static_cast<std::uint32_t>(self);
    greeting.stream = static_cast<std::uint32_t>(stream_);
    greeted_ = write_all(socket_, &greeting, sizeof greeting);
    if (!greeted_) socket_ = Descriptor();  // refused, say: the next address
  }

  int rank_;
  int stream_;
  const Place& theirs_;
  const Place& ours_;
  std::size_t next_ = 0;
  Descriptor socket_;
  bool greeted_ = false;
  Clock::time_point deadline_;
  char answer_[kSecret];
  std::size_t have_ = 0;
};

/// Somebody who has connected to us and has not said all yet who that is.
struct Visitor {
  Descriptor socket;
  Greeting greeting{};
  std::size_t have = 0;
  Clock::time_point deadline = Clock::now() + kOneAddress;
};

/// All the calls and visits of one rank.
class Meeting {
 public:
  Meeting(const Descriptor& listener, int rank, const std::vector<std::string>& places, int streams)
      : listener_(listener), rank_(rank), streams_(static_cast<std::size_t>(streams)) {
    for (const auto& text : places) {
      places_.push_back(text.empty() ? Place{} : parse_place(text));
    }
    found_.resize(places.size());
    for (int r = 0; r < static_cast<int>(places.size()); ++r) {
      if (r == rank || places_[index(r)].addresses.empty()) continue;
      found_[index(r)].resize(streams_);
      missing_ += streams_;
      if (r > rank) continue;  // that one calls us
      for (int s = 0; s < streams; ++s) {
        calls_.emplace_back(r, s, places_[index(r)], places_[index(rank)]);
      }
    }
  }

  std::vector<std::vector<Descriptor>> hold(const std::function<void()>& idle) {
    const auto end = Clock::now() + kAll;
    while (missing_ > 0) {
      advance_calls();
      advance_visitors();
      if (missing_ == 0) break;
      wait();
      idle();
      if (Clock::now() > end) throw std::runtime_error(who_is_missing());
    }
    return std::move(found_);
  }

 private:
  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

  void advance_calls() {
    for (auto call = calls_.begin(); call != calls_.end();) {
      Descriptor socket = call->advance(rank_);
      if (!socket) {
        ++call;
        continue;
      }
      found_[index(call->rank())][index(call->stream())] = std::move(socket);
      --missing_;
      call = calls_.erase(call);
    }
  }

  void advance_visitors() {
    for (;;) {
      Descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!socket) break;
      visitors_.push_back({std::move(socket)});
    }
    std::erase_if(visitors_, [this](Visitor& visitor) { return over(visitor); });
  }

  /// Whether it is known now who it is, or that it is nobody.
  bool over(Visitor& visitor) {
    const ssize_t n =
        read_some(visitor.socket, &visitor.greeting, visitor.have, sizeof visitor.greeting);
    if (n < 0) return Clock::now() > visitor.deadline;
    if (n == 0) return true;
    visitor.have = static_cast<std::size_t>(n);
    if (visitor.have < sizeof visitor.greeting) return false;
    const Greeting& said = visitor.greeting;
    const Place& ours = places_[index(rank_)];
    if (std::memcmp(said.magic, kMagic, sizeof kMagic) != 0 ||
        ours.secret.compare(0, kSecret, said.secret, kSecret) != 0 || said.rank >= found_.size() ||
        said.stream >= found_[said.rank].size()) {
      return true;
    }
    const std::string& answer = places_[said.rank].secret;
    if (!write_all(visitor.socket, answer.data(), answer.size())) return true;
    auto& place = found_[said.rank][said.stream];
    if (!place) --missing_;  // else: it has called again, because we were slow to answer
    place = std::move(visitor.socket);
    return true;
  }

  void wait() {
    fds_.assign(1, {listener_.get(), POLLIN, 0});
    for (const auto& call : calls_) {
      fds_.push_back(call.interest());
    }
    for (const auto& visitor : visitors_) {
      fds_.push_back({visitor.socket.get(), POLLIN, 0});
    }
    ::poll(fds_.data(), fds_.size(), kNapMs);
  }

  std::string who_is_missing() const {
    for (std::size_t r = 0; r < found_.size(); ++r) {
      for (const auto& socket : found_[r]) {
        if (socket) continue;
        std::string text = "no TCP connection with rank " + std::to_string(r) + ", which is at";
        for (const auto& address : places_[r].addresses) {
          text += " " + to_text(address);
        }
        return text + " port " + std::to_string(places_[r].port);
      }
    }
    return "no TCP connection";
  }

  const Descriptor& listener_;
  int rank_;
  std::size_t streams_;
  std::vector<Place> places_;
  std::vector<std::vector<Descriptor>> found_;
  std::size_t missing_ = 0;
  std::list<Call> calls_;
  std::list<Visitor> visitors_;
  std::vector<pollfd> fds_;
};

}  // namespace

ConnectionTable::ConnectionTable() : listener_(listen_anywhere()) {
  std::string secret(kSecret, '\0');
  if (::getrandom(secret.data(), kSecret, 0) != static_cast<ssize_t>(kSecret)) fail("getrandom");
  place_ = std::to_string(port_of(listener_)) + " " + hex(secret);
  for (const auto& address : own_addresses()) {
    place_ += " " + to_text(address);
  }
}

std::vector<std::vector<Descriptor>> ConnectionTable::meet(int rank,
                                                           const std::vector<std::string>& places,
                                                           int streams,
                                                           const std::function<void()>& idle) {
  allow_many_descriptors();
  auto found = Meeting(listener_, rank, places, streams).hold(idle);
  listener_ = Descriptor();
  return found;
}

}  // namespace thalweg::engine::comm
