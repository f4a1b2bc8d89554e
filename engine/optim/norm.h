// Norms of whole tensors.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>

#include "engine/tensor/simd.h"

namespace thalweg::engine::optim {

/// Sum of term(i) over i < n in double. Element i goes to partial sum i mod 16, and the partial
/// sums add up as a tree: an order that every width of the vector unit can keep, so the bits do not
/// depend on it. (The order is that of the memory: the device's layout is part of it.)
template <class Term>
THALWEG_INLINE double ordered_sum(std::size_t n, const Term& term) {
  constexpr std::size_t kLanes = 16;
  std::array<double, kLanes> part{};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      part[lane] += term(i + lane);
  for (; i < n; ++i)
    part[i % kLanes] += term(i);
  for (std::size_t width = kLanes / 2; width > 0; width /= 2)
    for (std::size_t lane = 0; lane < width; ++lane)
      part[lane] += part[lane + width];
  return part[0];
}

/// Defines `double name(n, parameters)`, the ordered sum of an expression in i.
#define THALWEG_SUM(name, parameters, expression)                                             \
  THALWEG_SIMD double name parameters {                                                       \
    return ordered_sum(                                                                       \
        n, [=](std::size_t i) __attribute__((always_inline))->double { return expression; }); \
  }

double sum_of_squares(std::size_t count, const float* x);
double sum_of_squares(std::size_t count, const double* x);
/// Of absolute values.
double sum_of_sizes(std::size_t count, const float* x);
double sum_of_sizes(std::size_t count, const double* x);

template <class T>
double norm(std::size_t count, const T* x) {
  return std::sqrt(sum_of_squares(count, x));
}

}  // namespace thalweg::engine::optim
