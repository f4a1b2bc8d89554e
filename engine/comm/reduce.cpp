#include "engine/comm/reduce.h"

#include <cstdint>
#include <type_traits>

namespace thalweg::engine::comm {
namespace {

struct Sum {
  template <class T>
  static T of(T a, T b) {
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
  static T of(T a, T b) {
    return a < b || a != a ? a : b;
  }
};
struct Max {
  template <class T>
  static T of(T a, T b) {
    return a > b || a != a ? a : b;
  }
};

template <class T, class F>
void each(void* into, const void* left, const void* right, std::size_t count) {
  auto* out = static_cast<T*>(into);
  const auto* a = static_cast<const T*>(left);
  const auto* b = static_cast<const T*>(right);
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = F::of(a[i], b[i]);
  }
}

template <class T>
void each_op(void* into, const void* left, const void* right, std::size_t count, Op op) {
  switch (op) {
    case Op::sum:
      return each<T, Sum>(into, left, right, count);
    case Op::min:
      return each<T, Min>(into, left, right, count);
    case Op::max:
      return each<T, Max>(into, left, right, count);
  }
}

}  // namespace

void combine(void* into, const void* left, const void* right, std::size_t count, Type type, Op op) {
  switch (type) {
    case Type::f32:
      return each_op<float>(into, left, right, count, op);
    case Type::f64:
      return each_op<double>(into, left, right, count, op);
    case Type::i32:
      return each_op<std::int32_t>(into, left, right, count, op);
    case Type::i64:
      return each_op<std::int64_t>(into, left, right, count, op);
  }
}

void add(float* __restrict into, const float* __restrict from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    into[i] += from[i];
  }
}

}  // namespace thalweg::engine::comm
