// Images moved between whole pixels, by bilinear interpolation (engine/data/augment_formulas.h).
#pragma once

#include <cstdint>

#include "engine/data/augment_formulas.h"

namespace thalweg::engine {

/// `in` and `out`: (channels, height, width) of g's size, and not the same memory. Each value is
/// the sum of the four about its place, in the order of augment::Between; what is outside counts as
/// 0. Thread-safe.
void interpolate(const augment::Geometry& g, augment::Fill fill, std::int64_t channels,
                 const float* in, float* out);

}  // namespace thalweg::engine
