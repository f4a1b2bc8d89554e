// Memory that the processes of one machine share.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "engine/comm/transport/transport.h"

namespace thalweg::engine::comm {

/// `bytes` zero bytes: a file in memory that never has a name, so that the kernel frees it with the
/// last process that has it, however that ends. nullptr where there is no room; never memory that
/// may fault later.
std::unique_ptr<Exposed> expose_memory(std::size_t bytes);

/// Maps what another process of this machine and pid namespace exposed. nullptr: it has ended, or
/// may not be looked into.
std::unique_ptr<Attached> attach_memory(const std::string& token);

}  // namespace thalweg::engine::comm
