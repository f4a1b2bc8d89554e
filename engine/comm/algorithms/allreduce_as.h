// Allreduce of f32 vectors that travel as 16-bit floats.
#pragma once

#include <cstddef>

#include "engine/comm/algorithms/link.h"
#include "engine/comm/reduction/types.h"

namespace thalweg::engine::comm {

/// Every rank rounds its vector once to `wire` (f16 or bf16); the owner of a slice adds up all
/// ranks' in f32 in the order of the ranks and rounds the result once; it ends on every rank,
/// widened. Vectors up to kWholeUpToBytes on the wire go to everybody instead, who all do the same.
/// Any operation; average divides before the rounding. Link: phases 0 to 127.
Task allreduce_as(const Link& link, Type wire, float* data, std::size_t count, Op op);

}  // namespace thalweg::engine::comm
