// In place of nccl.cpp where the build found no NCCL.
#include "engine/gpu/peers_of_machines.h"

namespace thalweg::engine::gpu {

std::string nccl_version() {
  throw GpuError(
      "this program was built without NCCL: install NCCL 2.14 or newer, configure (NCCL_ROOT says "
      "where it is) and build again");
}

PeersId new_nccl_id() {
  (void)nccl_version();
  return {};
}

std::unique_ptr<Peers> join_nccl(Gpu&, const PeersId&, int, int, std::function<void()>) {
  (void)nccl_version();
  return nullptr;
}

}  // namespace thalweg::engine::gpu
