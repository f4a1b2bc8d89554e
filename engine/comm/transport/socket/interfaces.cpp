#include "engine/comm/transport/socket/interfaces.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace thalweg::engine::comm {
namespace {

struct Candidate {
  Address address;
  std::string interface;
  long speed;  ///< Mbit/s; 0: unknown
  bool loopback;
};

long speed_of(const std::string& interface) {
  long speed = 0;
  std::ifstream file("/sys/class/net/" + interface + "/speed");
  return file >> speed && speed > 0 ? speed : 0;
}

/// The raw bytes of an address, network order.
std::string bytes_of(const sockaddr_storage& socket) {
  if (socket.ss_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in&>(socket).sin_addr;
    return {reinterpret_cast<const char*>(&in), sizeof in};
  }
  const auto& in6 = reinterpret_cast<const sockaddr_in6&>(socket).sin6_addr;
  return {reinterpret_cast<const char*>(&in6), sizeof in6};
}

int prefix_of(const sockaddr* mask) {
  if (!mask) return 0;
  sockaddr_storage storage{};
  std::memcpy(&storage, mask,
              mask->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
  int bits = 0;
  for (const char byte : bytes_of(storage)) {
    bits += std::popcount(static_cast<unsigned char>(byte));
  }
  return bits;
}

/// An address of a link has no meaning without the name of the interface.
bool usable(const sockaddr* address) {
  if (!address) return false;
  if (address->sa_family == AF_INET) return true;
  return address->sa_family == AF_INET6 &&
         !IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

std::vector<Candidate> candidates() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) {
    throw std::system_error(errno, std::generic_category(), "getifaddrs");
  }
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, ::freeifaddrs);
  std::vector<Candidate> found;
  for (const ifaddrs* i = list; i; i = i->ifa_next) {
    if (!(i->ifa_flags & IFF_UP) || !(i->ifa_flags & IFF_RUNNING) || !usable(i->ifa_addr)) continue;
    Candidate candidate{{}, i->ifa_name, speed_of(i->ifa_name), (i->ifa_flags & IFF_LOOPBACK) != 0};
    std::memcpy(&candidate.address.socket, i->ifa_addr,
                i->ifa_addr->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    candidate.address.prefix = prefix_of(i->ifa_netmask);
    found.push_back(std::move(candidate));
  }
  return found;
}

/// Keeps what `wanted` holds for, unless that is nothing.
template <class F>
void prefer(std::vector<Candidate>& candidates, F&& wanted) {
  if (std::any_of(candidates.begin(), candidates.end(), wanted)) {
    std::erase_if(candidates, [&](const Candidate& c) { return !wanted(c); });
  }
}

}  // namespace

std::vector<Address> own_addresses() {
  auto found = candidates();
  if (const char* devices = std::getenv("UCX_NET_DEVICES")) {
    const std::string names = std::string(",") + devices + ",";
    prefer(found, [&](const Candidate& c) {
      return names.find("," + c.interface + ",") != std::string::npos;
    });
  }
  prefer(found, [](const Candidate& c) { return !c.loopback; });
  std::stable_sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
    if (a.speed != b.speed) return a.speed > b.speed;
    return a.address.socket.ss_family == AF_INET && b.address.socket.ss_family != AF_INET;
  });
  std::vector<Address> addresses;
  for (auto& candidate : found) {
    addresses.push_back(candidate.address);
  }
  return addresses;
}

std::string to_text(const Address& address) {
  char text[INET6_ADDRSTRLEN] = "";
  const std::string bytes = bytes_of(address.socket);
  ::inet_ntop(address.socket.ss_family, bytes.data(), text, sizeof text);
  return std::string(text) + "/" + std::to_string(address.prefix);
}

Address parse_address(const std::string& text) {
  Address address;
  const auto slash = text.find('/');
  const std::string host = text.substr(0, slash);
  auto& in = reinterpret_cast<sockaddr_in&>(address.socket);
  auto& in6 = reinterpret_cast<sockaddr_in6&>(address.socket);
  if (slash != std::string::npos) address.prefix = std::atoi(text.c_str() + slash + 1);
  if (::inet_pton(AF_INET, host.c_str(), &in.sin_addr) == 1) {
    address.socket.ss_family = AF_INET;
  } else if (::inet_pton(AF_INET6, host.c_str(), &in6.sin6_addr) == 1) {
    address.socket.ss_family = AF_INET6;
  } else {
    throw std::runtime_error("'" + text + "' is no address");
  }
  return address;
}

bool same_subnet(const Address& a, const Address& b) {
  if (a.socket.ss_family != b.socket.ss_family || a.prefix != b.prefix) return false;
  const std::string x = bytes_of(a.socket);
  const std::string y = bytes_of(b.socket);
  const auto whole = static_cast<std::size_t>(a.prefix / 8);
  if (x.compare(0, whole, y, 0, whole) != 0) return false;
  const int rest = a.prefix % 8;
  return rest == 0 ||
         (static_cast<unsigned char>(x[whole]) ^ static_cast<unsigned char>(y[whole])) >>
                 (8 - rest) ==
             0;
}

sockaddr_storage with_port(const Address& address, int port) {
  sockaddr_storage socket = address.socket;
  const in_port_t number = htons(static_cast<std::uint16_t>(port));
  if (socket.ss_family == AF_INET) {
    reinterpret_cast<sockaddr_in&>(socket).sin_port = number;
  } else {
    reinterpret_cast<sockaddr_in6&>(socket).sin6_port = number;
  }
  return socket;
}

socklen_t length_of(const sockaddr_storage& address) {
  return address.ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}

}  // namespace thalweg::engine::comm
