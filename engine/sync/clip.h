// Clipping of a gradient in the host's memory.
#pragma once

#include <cstddef>

namespace thalweg::engine {

/// Scales a gradient down to norm `longest` where it is longer (Pascanu et al., arXiv:1211.5063).
/// The sum runs in memory order in double: the same bits everywhere.
void clip(float* gradient, std::size_t count, double longest);

/// Cuts each element to [-largest, largest]; what is not finite stays, to be seen.
void clip_values(float* gradient, std::size_t count, double largest);

}  // namespace thalweg::engine
