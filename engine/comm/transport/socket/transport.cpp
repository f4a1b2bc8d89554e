// What the environment wants of sockets, and which pairs of ranks get them.
#include "engine/comm/transport/socket/transport.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <stdexcept>

namespace thalweg::engine::comm {
namespace {

constexpr int kMaxStreams = 16;
constexpr const char* kUnlessItPaces = "-";
constexpr const char* kUse = "THALWEG_SOCKETS";
constexpr const char* kStreams = "THALWEG_SOCKET_STREAMS";
constexpr const char* kCongestion = "THALWEG_SOCKET_CONGESTION";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// With RDMA, UCX has something better than TCP.
bool has_fast_network() {
  std::error_code ignored;
  const std::filesystem::directory_iterator devices("/sys/class/infiniband", ignored);
  return devices != std::filesystem::directory_iterator();
}

std::string congestion_of(int fd) {
  char name[32] = "";
  socklen_t length = sizeof name;
  return ::getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &length) == 0 ? name : "";
}

void set_congestion(int fd, const std::string& name) {
  if (name.empty()) return;
  if (name != kUnlessItPaces) {
    if (::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.data(),
                     static_cast<socklen_t>(name.size())) != 0) {
      throw std::runtime_error(std::string(kCongestion) + ": the kernel does not allow '" + name +
                               "'");
    }
    return;
  }
  // BBR paces by its model of a long path and its bandwidth; on round trips of microseconds that
  // costs two thirds of the bandwidth. Reno is allowed everywhere, and recovers within a few round
  // trips.
  if (congestion_of(fd).starts_with("bbr")) {
    ::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
  }
}

void prepare(int fd, const SocketSettings& settings) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  set_congestion(fd, settings.congestion);
}

/// What a rank publishes: "always 1 " or "auto 1 ", with its number of streams, and the connection
/// table's part.
struct Offer {
  bool always = false;
  int streams = 1;
  std::string place;  ///< empty: takes no part
};

Offer parse_offer(const std::string& text) {
  Offer offer;
  std::istringstream in(text);
  std::string use;
  if (!(in >> use >> offer.streams >> std::ws)) return offer;
  offer.always = use == "always";
  std::getline(in, offer.place);
  return offer;
}

}  // namespace

SocketSettings SocketSettings::from_environment() {
  SocketSettings settings;
  const std::string use = variable(kUse);
  if (use == "always") {
    settings.use = Use::always;
  } else if (use == "never") {
    settings.use = Use::never;
  } else if (!use.empty() && use != "auto") {
    throw std::runtime_error(std::string(kUse) + " is auto, always or never, not '" + use + "'");
  } else if (has_fast_network()) {
    settings.use = Use::never;
  }
  const std::string streams = variable(kStreams);
  if (!streams.empty()) settings.streams = std::atoi(streams.c_str());
  if (settings.streams < 1 || settings.streams > kMaxStreams) {
    throw std::runtime_error(std::string(kStreams) + " is 1 to " + std::to_string(kMaxStreams) +
                             ", not '" + streams + "'");
  }
  settings.congestion = variable(kCongestion);
  if (settings.congestion.empty()) {
    settings.congestion = kUnlessItPaces;
  } else if (settings.congestion == "system") {
    settings.congestion.clear();
  }
  return settings;
}

SocketTransport::SocketTransport(TransportHost& host, SocketSettings settings)
    : host_(host), settings_(std::move(settings)) {
  if (settings_.use != SocketSettings::Use::never) table_ = std::make_unique<ConnectionTable>();
}

std::string SocketTransport::place() const {
  if (!table_) return "";
  return (settings_.use == SocketSettings::Use::always ? "always " : "auto ") +
         std::to_string(settings_.streams) + " " + table_->place();
}

void SocketTransport::connect(int rank, const std::vector<std::string>& places,
                              const std::vector<std::string>& machines,
                              const std::function<void()>& idle) {
  connections_.resize(places.size());
  if (!table_) return;
  const auto self = static_cast<std::size_t>(rank);
  std::vector<Offer> offers;
  for (const auto& place : places) {
    offers.push_back(parse_offer(place));
  }
  std::vector<std::string> wanted(places.size());
  int streams = settings_.streams;
  bool any = false;
  for (std::size_t r = 0; r < offers.size(); ++r) {
    const bool always = offers[r].always && offers[self].always;
    if (offers[r].place.empty()) continue;
    streams = std::min(streams, offers[r].streams);
    if (r != self && machines[r] == machines[self] && !always) continue;
    wanted[r] = offers[r].place;
    any = any || r != self;
  }
  if (any) {
    auto found = table_->meet(rank, wanted, streams, idle);
    for (std::size_t r = 0; r < found.size(); ++r) {
      if (found[r].empty()) continue;
      for (const auto& socket : found[r]) {
        prepare(socket.get(), settings_);
      }
      connections_[r] =
          std::make_unique<PeerConnection>(host_, static_cast<int>(r), std::move(found[r]), moved_);
    }
  }
  table_.reset();
}

std::unique_ptr<Request> SocketTransport::send(int peer, std::uint64_t tag, const void* data,
                                               std::size_t bytes, MessageMemory) {
  PeerConnection& connection = *connections_[static_cast<std::size_t>(peer)];
  auto request = connection.send(tag, data, bytes);
  if (request) activate(connection);
  return request;
}

std::unique_ptr<Request> SocketTransport::receive(int peer, std::uint64_t tag, void* data,
                                                  std::size_t bytes, MessageMemory) {
  PeerConnection& connection = *connections_[static_cast<std::size_t>(peer)];
  auto request = connection.receive(tag, data, bytes);
  if (request) activate(connection);
  return request;
}

void SocketTransport::activate(PeerConnection& connection) {
  if (std::find(active_.begin(), active_.end(), &connection) == active_.end()) {
    active_.push_back(&connection);
  }
}

void SocketTransport::progress() {
  for (std::size_t i = 0; i < active_.size();) {
    active_[i]->advance();
    if (active_[i]->active()) {
      ++i;
    } else {
      active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

void SocketTransport::add_interests(std::vector<pollfd>& fds) const {
  for (const PeerConnection* connection : active_) {
    connection->add_interests(fds);
  }
}

void SocketTransport::close() {
  active_.clear();
  for (const auto& connection : connections_) {
    if (connection) connection->close();
  }
  table_.reset();
}

}  // namespace thalweg::engine::comm
