// What Group::allocate gives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/comm/algorithms/shared/common_memory.h"
#include "engine/comm/group.h"
#include "engine/comm/group/progress.h"

namespace thalweg::engine::comm {

/// `bytes` zero bytes that nobody else reaches.
std::unique_ptr<Memory> ordinary_memory(std::size_t bytes);

/// This rank's part of `memory`, which calls find by `id` among progress->regions().
std::unique_ptr<Memory> shared_memory(std::shared_ptr<Progress> progress,
                                      std::unique_ptr<CommonMemory> memory, std::uint64_t id,
                                      std::size_t bytes);

}  // namespace thalweg::engine::comm
