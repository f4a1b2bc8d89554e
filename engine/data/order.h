// In which order samples come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/tensor/random.h"

namespace thalweg::engine {

/// A uniformly drawn order of 0 .. count-1: the numbers sorted by one 64-bit random key each (keyed
/// by seed, stream and round; equal keys by number). Same arguments, same order, on every machine.
std::vector<std::uint32_t> permutation(std::uint64_t seed, Stream stream, std::uint32_t round,
                                       std::size_t count);

}  // namespace thalweg::engine
