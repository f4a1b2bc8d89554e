#include "engine/comm/reduce.h"

#include <cstdint>
#include <stdexcept>
#include <type_traits>

#include "engine/comm/half.h"

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

template <class T>
T narrow(float value);
template <>
inline F16 narrow(float value) {
  return to_f16(value);
}
template <>
inline Bf16 narrow(float value) {
  return to_bf16(value);
}

template <class T, class F>
void each(void* into, const void* left, const void* right, std::size_t count) {
  auto* out = static_cast<T*>(into);
  const auto* a = static_cast<const T*>(left);
  const auto* b = static_cast<const T*>(right);
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (std::is_arithmetic_v<T>) {
      out[i] = F::of(a[i], b[i]);
    } else {
      out[i] = narrow<T>(F::of(to_float(a[i]), to_float(b[i])));
    }
  }
}

template <class T>
void each_op(void* into, const void* left, const void* right, std::size_t count, Op op) {
  switch (op) {
    case Op::sum:
    case Op::average:
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
    case Type::f16:
      return each_op<F16>(into, left, right, count, op);
    case Type::bf16:
      return each_op<Bf16>(into, left, right, count, op);
    case Type::i32:
      return each_op<std::int32_t>(into, left, right, count, op);
    case Type::i64:
      return each_op<std::int64_t>(into, left, right, count, op);
  }
}

namespace {

template <class T>
void each_times(void* data, std::size_t count, double factor) {
  auto* values = static_cast<T*>(data);
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (std::is_arithmetic_v<T>) {
      values[i] *= static_cast<T>(factor);
    } else {
      values[i] = narrow<T>(to_float(values[i]) * static_cast<float>(factor));
    }
  }
}

}  // namespace

void finish(void* data, std::size_t count, Type type, Op op, int ranks) {
  if (op != Op::average || ranks == 1) return;
  const double factor = 1.0 / ranks;
  switch (type) {
    case Type::f32:
      return each_times<float>(data, count, factor);
    case Type::f64:
      return each_times<double>(data, count, factor);
    case Type::f16:
      return each_times<F16>(data, count, factor);
    case Type::bf16:
      return each_times<Bf16>(data, count, factor);
    case Type::i32:
    case Type::i64:
      throw std::logic_error("an average of integers");
  }
}

void add(float* __restrict into, const float* __restrict from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    into[i] += from[i];
  }
}

}  // namespace thalweg::engine::comm
