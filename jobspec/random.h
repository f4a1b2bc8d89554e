// The counter-based generator of random search: a pure function of (seed, index, axis).
#pragma once

#include <array>
#include <cstdint>

namespace thalweg::jobspec {

/// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3, SC'11).
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key);

/// Strictly between 0 and 1: an odd multiple of 2^-53. `stream` tells axes apart.
double uniform(std::uint64_t seed, std::uint64_t index, std::uint64_t stream);

}  // namespace thalweg::jobspec
