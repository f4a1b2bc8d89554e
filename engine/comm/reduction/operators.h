// What a reduction does with two elements: the one place that says how sums wrap around and NaN
// stays.
#pragma once

#include <type_traits>

#include "engine/simd.h"

namespace thalweg::engine::comm {

struct Sum {
  template <class T>
  THALWEG_INLINE static T of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      using Unsigned = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
    } else {
      return a + b;
    }
  }
};
struct Min {
  template <class T>
  THALWEG_INLINE static T of(T a, T b) {
    return a < b || a != a ? a : b;
  }
};
struct Max {
  template <class T>
  THALWEG_INLINE static T of(T a, T b) {
    return a > b || a != a ? a : b;
  }
};

}  // namespace thalweg::engine::comm
