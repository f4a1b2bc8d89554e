// Sums and maxima that vectorise and have the same bits on every vector width.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "engine/tensor/simd.h"

namespace thalweg::engine::cpu {

/// combine() of start and term(0) ... term(count - 1): it runs in 16 lanes, whose halves are then
/// combined, again and again.
template <class Term, class Combine>
THALWEG_INLINE float in_executors(std::int64_t count, float start, Term term, Combine combine) {
  constexpr std::int64_t kLanes = 16;
  float lanes[kLanes];
  for (float& lane : lanes)
    lane = start;
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
  // As a loop gcc makes it one vector; unrolled first, 16 numbers.
#pragma GCC unroll 1
    for (std::int64_t k = 0; k < kLanes; ++k)
      lanes[k] = combine(lanes[k], term(i + k));
  for (std::int64_t k = 0; i < count; ++i, ++k)
    lanes[k] = combine(lanes[k], term(i));
  for (std::int64_t k = 0; k < 8; ++k)
    lanes[k] = combine(lanes[k], lanes[k + 8]);
  for (std::int64_t k = 0; k < 4; ++k)
    lanes[k] = combine(lanes[k], lanes[k + 4]);
  return combine(combine(lanes[0], lanes[2]), combine(lanes[1], lanes[3]));
}

/// The sum of term(0) ... term(count - 1).
template <class Term>
THALWEG_INLINE float lane_sum(std::int64_t count, Term term) {
  return in_executors(count, 0.0f, term, [](float a, float b) { return a + b; });
}

/// The largest of term(0) ... term(count - 1), NaN left out; -infinity where there is none.
template <class Term>
THALWEG_INLINE float lane_max(std::int64_t count, Term term) {
  return in_executors(count, -std::numeric_limits<float>::infinity(), term,
                      [](float a, float b) { return std::max(a, b); });
}

}  // namespace thalweg::engine::cpu
