// What stands behind peers.h. For this folder only.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/gpu/peers.h"

namespace thalweg::engine::gpu {

/// nccl.cpp, or no_nccl.cpp where the build found none.
std::string nccl_version();
PeersId new_nccl_id();
std::unique_ptr<Peers> join_nccl(Gpu& gpu, const PeersId& id, int rank, int ranks,
                                 std::function<void()> look);

}  // namespace thalweg::engine::gpu
