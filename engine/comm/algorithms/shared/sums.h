// Arithmetic over many vectors at once: what a rank does that sees all ranks' memory.
#pragma once

#include <cstddef>
#include <span>

#include "engine/comm/reduction/shard_tree.h"
#include "engine/comm/reduction/types.h"

namespace thalweg::engine::comm {

/// What a collective reduces with.
struct Reduction {
  Type type;
  Op op;
};

/// into[j][i] = sources[0][i] op sources[1][i] op ... for every j, left to right. f16 and bf16 are
/// added up in f32 over all sources and rounded once; average divides by the number of sources.
/// An `into` may be one of the sources, but not overlap one otherwise. All are aligned for their
/// type.
void reduce_all(std::span<void* const> into, std::span<const void* const> sources,
                std::size_t count, Reduction reduction);

/// into[j][i] = the sum over the tree's places, added up as `adds` says; the places stay as they
/// are, unless they are an `into`. `adds` ends in place 0.
void reduce_tree(std::span<float* const> into, std::span<const float* const> places,
                 std::span<const ShardTree::Add> adds, std::size_t count);

}  // namespace thalweg::engine::comm
