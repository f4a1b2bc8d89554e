// Mean and deviation of a range of numbers, and what the layers do that normalise by them.
#pragma once

#include <cmath>
#include <cstdint>

#include "engine/device/reference/layer.h"

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

  T normal(T x) const { return (x - mean) * inverse; }
};

/// y = weight * normalised x + bias for the `count` elements from `at` on; feature(i) is the number
/// of the i-th one's weight and bias.
template <class T, class Feature>
void normalize(const Call<T>& call, std::int64_t at, std::int64_t count, double epsilon,
               Feature feature) {
  const Moments<T> m(call.x + at, count, epsilon);
  for (std::int64_t i = 0; i < count; ++i)
    call.y[at + i] =
        m.normal(call.x[at + i]) * call.weights[0][feature(i)] + call.weights[1][feature(i)];
}

/// The backward of normalize: dx, and what is added to the gradients of the weights.
template <class T, class Feature>
void normalize_backward(const Call<T>& call, std::int64_t at, std::int64_t count, double epsilon,
                        Feature feature) {
  const Moments<T> m(call.x + at, count, epsilon);
  T gradients = 0, along = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t f = feature(i);
    const T dy = call.dy[at + i], normal = m.normal(call.x[at + i]);
    call.gradients[0][f] += dy * normal;
    call.gradients[1][f] += dy;
    gradients += dy * call.weights[0][f];
    along += dy * call.weights[0][f] * normal;
  }
  for (std::int64_t i = 0; call.dx != nullptr && i < count; ++i)
    call.dx[at + i] = m.inverse * (call.dy[at + i] * call.weights[0][feature(i)] -
                                   gradients / static_cast<T>(count) -
                                   m.normal(call.x[at + i]) * along / static_cast<T>(count));
}

}  // namespace thalweg::engine::reference
