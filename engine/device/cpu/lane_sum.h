// Sums and maxima that vectorise and have the same bits on every vector width.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "engine/tensor/simd.h"

namespace thalweg::engine::cpu {

/// The sum of term(0) ... term(count - 1): it runs in 16 lanes, which are then added in order.
template <class Term>
THALWEG_INLINE float lane_sum(std::int64_t count, Term term) {
  constexpr std::int64_t kLanes = 16;
  float lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::int64_t k = 0; k < kLanes; ++k)
      lanes[k] += term(i + k);
  for (std::int64_t k = 0; i < count; ++i, ++k)
    lanes[k] += term(i);
  float sum = 0;
  for (const float lane : lanes)
    sum += lane;
  return sum;
}

/// The largest of term(0) ... term(count - 1), NaN left out; -infinity where there is none.
template <class Term>
THALWEG_INLINE float lane_max(std::int64_t count, Term term) {
  constexpr std::int64_t kLanes = 16;
  float lanes[kLanes];
  for (float& lane : lanes)
    lane = -std::numeric_limits<float>::infinity();
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::int64_t k = 0; k < kLanes; ++k)
      lanes[k] = std::max(lanes[k], term(i + k));
  for (std::int64_t k = 0; i < count; ++i, ++k)
    lanes[k] = std::max(lanes[k], term(i));
  float largest = lanes[0];
  for (const float lane : lanes)
    largest = std::max(largest, lane);
  return largest;
}

}  // namespace thalweg::engine::cpu
