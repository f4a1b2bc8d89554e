// Memory that the processes of one machine share.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "engine/comm/transport.h"

namespace thalweg::engine::comm {

/// `bytes` zero bytes: a System V segment, or a file in memory where the kernel allows no such
/// segment of that size. Both have no name any more, so that nothing is left when a process is
/// killed. nullptr where there is no room; never memory that may fault later.
std::unique_ptr<Exposed> expose_memory(std::size_t bytes);

/// Maps what another process of this machine exposed: a System V segment's number means another
/// segment elsewhere. nullptr: it has ended, or may not be looked into.
std::unique_ptr<Attached> attach_memory(const std::string& token);

}  // namespace thalweg::engine::comm
