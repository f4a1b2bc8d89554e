// Shared memory that killed processes left behind.
#pragma once

#include <sys/types.h>

#include <string>

namespace thalweg::engine::comm {

/// Where UCX makes its files: UCX_POSIX_DIR, or /dev/shm.
std::string memory_folder();

/// Removes from `folder` those files of UCX and NCCL that are this user's and that no process has
/// open or mapped, whatever its pid namespace. Both take the name away soon after they made a file,
/// so only a process that is killed in between leaves it. Any number of processes may do this at
/// once; never throws.
void remove_abandoned_memory(const std::string& folder = memory_folder());

/// Removes the System V segments without a key that process `ended` made and nobody has attached.
/// It must have ended, and been one of ours: nobody else knew them.
void remove_segments_of(pid_t ended);

/// Removes the System V segments of a page at most, without a key, that this user's process made
/// and nobody else ever attached, where that process has ended. UCX makes three of them at each
/// start to see what the kernel can do; one stays where the process is killed in between.
void remove_abandoned_segments();

}  // namespace thalweg::engine::comm
