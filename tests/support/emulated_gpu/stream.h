// Streams, events and captured graphs of the emulated GPU. For this folder only.
#pragma once

#include <atomic>
#include <memory>

#include "engine/gpu/gpu.h"
#include "engine/gpu/memory_ranges.h"

namespace thalweg::engine::gpu {

/// As Counts.
struct EmulatedCounters {
  std::atomic<long> allocations{0}, waits{0}, pageable_copies{0};
};

std::unique_ptr<Event> emulated_event(EmulatedCounters& counters, bool timed);
/// `device` and `pinned` say what a copy may touch. `own_thread`: work is done there, at any time
/// that events allow, as a GPU does; else at once, on the thread that asks for it.
std::unique_ptr<Stream> emulated_stream(EmulatedCounters& counters, const MemoryRanges& device,
                                        const MemoryRanges& pinned, bool own_thread);

}  // namespace thalweg::engine::gpu
