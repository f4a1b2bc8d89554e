// The addresses at which other machines may reach this one.
#pragma once

#include <netinet/in.h>

#include <string>
#include <vector>

namespace thalweg::engine::comm {

struct Address {
  sockaddr_storage socket{};  ///< port 0
  int prefix = 0;             ///< bits of the subnet
};

/// Of the interfaces that are up: of the fastest first, IPv4 before IPv6; the loopback only where
/// there is nothing else. Only of interfaces that UCX_NET_DEVICES names, where it names any.
std::vector<Address> own_addresses();

/// "10.0.0.1/24", "fd00::1/64"; parse_address throws std::runtime_error.
std::string to_text(const Address& address);
Address parse_address(const std::string& text);

bool same_subnet(const Address& a, const Address& b);

/// With that port, for connect() and bind().
sockaddr_storage with_port(const Address& address, int port);
socklen_t length_of(const sockaddr_storage& address);

}  // namespace thalweg::engine::comm
