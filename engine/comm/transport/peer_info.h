// What a rank tells all others before they are connected.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace thalweg::engine::comm {

struct PeerInfo {
  std::string address;  ///< see UcxWorker::address
  std::string node;
  /// Its boot, its name here, pid and ipc namespaces: where `pid` and shared memory mean anything.
  std::string machine;
  pid_t pid = 0;
  std::uint64_t probe = 0;   ///< see shared/direct.h
  std::string socket_place;  ///< see SocketTransport::place
};

/// This process: its node, machine and pid.
PeerInfo describe_process();

}  // namespace thalweg::engine::comm
