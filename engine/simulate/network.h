// The network between simulated ranks: what a message takes, and the transports that carry it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "engine/comm/transport/transport.h"
#include "engine/simulate/scheduler.h"

namespace thalweg::engine::simulate {

struct NetworkState;

/// A rank's way into the network, full duplex.
struct Link {
  double latency_s = 0;    ///< until a message's first byte is there
  double bytes_per_s = 0;  ///< 0: no limit
};

/// Alpha-beta: between two idle links a message of n bytes takes alpha + n / beta, the larger
/// latency and the smaller rate of both. A link sends one message after another and receives one
/// after another, each for n bytes at its own rate; between them messages wait without limit (a
/// switch with memory for all), and a slow receiver does not hold up its sender. Ranks share no
/// memory: each is a machine of its own.
class Network {
 public:
  /// A link for each rank. `scheduler` must outlive the network, and the network its transports.
  Network(Scheduler& scheduler, std::vector<Link> links);
  ~Network();
  std::unique_ptr<comm::Transport> transport(int rank);
  std::uint64_t messages() const;

 private:
  std::unique_ptr<NetworkState> state_;
};

}  // namespace thalweg::engine::simulate
