// Reading another process's memory on the same machine: one copy, and the sender need not help.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace thalweg::engine::comm {

/// Where a peer finds a known value in this process, to try whether it may read here.
std::uint64_t direct_probe();

/// Whether this process may read the memory of `pid` (same user, no ptrace restriction, same pid
/// namespace): it finds the known value at `probe`.
bool may_read_directly(pid_t pid, std::uint64_t probe);

/// False with errno where it could not read all of it.
bool read_directly(pid_t pid, std::uint64_t from, void* into, std::size_t bytes);

}  // namespace thalweg::engine::comm
