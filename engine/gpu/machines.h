// What stands behind gpu(), gpu_count(), why_no_gpu() and peers.h. For this folder, and for the
// emulated machine of the tests (tests/support/emulated_gpu).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/gpu/gpu.h"
#include "engine/gpu/peers.h"

namespace thalweg::engine::gpu {

/// CUDA's machine: cuda.cpp, or no_cuda.cpp where the build found no CUDA.
Gpu& cuda_gpu(int number);
int cuda_count() noexcept;
std::string why_no_cuda();

/// A machine that does on the host all that a GPU does. Only programs of the tests have one.
struct EmulatedMachine {
  Gpu& (*gpu)();
  std::string (*peers_version)();
  PeersId (*new_peers_id)();
  std::unique_ptr<Peers> (*join_peers)(Gpu& gpu, const PeersId& id, int rank, int ranks,
                                       std::function<void()> look);
};
/// Before main(): what THALWEG_GPU=emulated takes from then on.
void set_emulated_machine(const EmulatedMachine& machine);
/// Null where the program has none.
const EmulatedMachine* emulated_machine();

}  // namespace thalweg::engine::gpu
