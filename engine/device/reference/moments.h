// Mean and deviation of a stretch of numbers, for the layers that normalise by them.
#pragma once

#include <cmath>
#include <cstdint>

namespace thalweg::engine::reference {

template <class T>
struct Moments {
  T mean = 0, inverse = 0;  ///< 1 / sqrt(variance + epsilon)
  Moments(const T* x, std::int64_t count, double epsilon) {
    T sum = 0, squares = 0;
    for (std::int64_t i = 0; i < count; ++i)
      sum += x[i];
    mean = sum / static_cast<T>(count);
    for (std::int64_t i = 0; i < count; ++i)
      squares += (x[i] - mean) * (x[i] - mean);
    inverse = 1 / std::sqrt(squares / static_cast<T>(count) + static_cast<T>(epsilon));
  }
};

}  // namespace thalweg::engine::reference
