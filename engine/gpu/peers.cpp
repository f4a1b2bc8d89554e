#include "engine/gpu/peers.h"

#include <utility>

#include "engine/gpu/peers_of_machines.h"

namespace thalweg::engine::gpu {

std::string peers_version(const Gpu& gpu) {
  return gpu.info().emulated ? emulated_peers_version() : nccl_version();
}

PeersId new_peers_id(const Gpu& gpu) {
  return gpu.info().emulated ? new_emulated_peers_id() : new_nccl_id();
}

std::unique_ptr<Peers> join_peers(Gpu& gpu, const PeersId& id, int rank, int ranks,
                                  std::function<void()> look) {
  return (gpu.info().emulated ? join_emulated_peers : join_nccl)(gpu, id, rank, ranks,
                                                                 std::move(look));
}

}  // namespace thalweg::engine::gpu
