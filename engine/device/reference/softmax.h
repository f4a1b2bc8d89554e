// The softmax: y[i] = exp(x[i]) / sum_k exp(x[k]). The largest x is taken out first, so that exp
// cannot overflow.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace thalweg::engine::reference {

/// Of `count` numbers (at least one) that stand `step` apart; y is contiguous, and may be x
/// where step is 1.
template <class T>
void softmax(const T* x, std::int64_t count, std::int64_t step, T* y) {
  T largest = x[0], sum = 0;
  for (std::int64_t i = 1; i < count; ++i)
    largest = std::max(largest, x[i * step]);
  for (std::int64_t i = 0; i < count; ++i)
    sum += y[i] = std::exp(x[i * step] - largest);
  for (std::int64_t i = 0; i < count; ++i)
    y[i] /= sum;
}

}  // namespace thalweg::engine::reference
