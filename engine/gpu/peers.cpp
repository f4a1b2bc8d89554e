#include "engine/gpu/peers.h"

#include <utility>

#include "engine/gpu/machines.h"
#include "engine/gpu/peers_of_machines.h"

namespace thalweg::engine::gpu {

std::string peers_version(const Gpu& gpu) {
  return gpu.info().emulated ? emulated_machine()->peers_version() : nccl_version();
}

PeersId new_peers_id(const Gpu& gpu) {
  return gpu.info().emulated ? emulated_machine()->new_peers_id() : new_nccl_id();
}

std::unique_ptr<Peers> join_peers(Gpu& gpu, const PeersId& id, int rank, int ranks,
                                  std::function<void()> look) {
  return (gpu.info().emulated ? emulated_machine()->join_peers : join_nccl)(gpu, id, rank, ranks,
                                                                            std::move(look));
}

}  // namespace thalweg::engine::gpu
