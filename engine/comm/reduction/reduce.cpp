#include "engine/comm/reduction/reduce.h"

#include <cstdint>
#include <stdexcept>

#include "engine/comm/reduction/half.h"
#include "engine/comm/reduction/operators.h"
#include "engine/simd.h"

namespace thalweg::engine::comm {
namespace {

// ivdep: operands are the same memory or apart, so no element depends on an earlier one. Without it
// the compiler's check for overlap takes the slow loop where `out` is an operand.
template <class F, class O, class A, class B>
THALWEG_INLINE void each(O* out, const A* a, const B* b, std::size_t count) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = store<O>(F::of(load(a[i]), load(b[i])));
  }
}

template <class O, class A, class B>
THALWEG_INLINE void each_op(void* into, const void* left, const void* right, std::size_t count,
                            Op op) {
  auto* out = static_cast<O*>(into);
  const auto* a = static_cast<const A*>(left);
  const auto* b = static_cast<const B*>(right);
  switch (op) {
    case Op::sum:
    case Op::average:
      return each<Sum>(out, a, b, count);
    case Op::min:
      return each<Min>(out, a, b, count);
    case Op::max:
      return each<Max>(out, a, b, count);
  }
}

}  // namespace

THALWEG_SIMD void combine(void* into, const void* left, const void* right, std::size_t count,
                          Type type, Op op) {
  switch (type) {
    case Type::f32:
      return each_op<float, float, float>(into, left, right, count, op);
    case Type::f64:
      return each_op<double, double, double>(into, left, right, count, op);
    case Type::f16:
      return each_op<F16, F16, F16>(into, left, right, count, op);
    case Type::bf16:
      return each_op<Bf16, Bf16, Bf16>(into, left, right, count, op);
    case Type::i32:
      return each_op<std::int32_t, std::int32_t, std::int32_t>(into, left, right, count, op);
    case Type::i64:
      return each_op<std::int64_t, std::int64_t, std::int64_t>(into, left, right, count, op);
  }
}

namespace {

template <class T>
THALWEG_INLINE void each_times(void* data, std::size_t count, double factor) {
  auto* values = static_cast<T*>(data);
  using Wide = decltype(load(T{}));
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = store<T>(load(values[i]) * static_cast<Wide>(factor));
  }
}

THALWEG_SIMD void times(void* data, std::size_t count, Type type, double factor) {
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
      return;
  }
}

}  // namespace

void finish(void* data, std::size_t count, Type type, Op op, int ranks) {
  if (op != Op::average || ranks == 1) return;
  if (type == Type::i32 || type == Type::i64) throw std::logic_error("an average of integers");
  times(data, count, type, 1.0 / ranks);
}

THALWEG_SIMD void add(float* into, const float* from, std::size_t count) {
  each<Sum>(into, into, from, count);
}

namespace {

[[noreturn]] void not_16_bit() {
  throw std::invalid_argument("only f16 and bf16 are 16-bit floats");
}

template <class To, class From>
THALWEG_INLINE void each_as(void* to, const void* from, std::size_t count) {
  auto* __restrict out = static_cast<To*>(to);
  const auto* __restrict in = static_cast<const From*>(from);
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = store<To>(load(in[i]));
  }
}

}  // namespace

THALWEG_SIMD void narrow(void* to, const float* from, std::size_t count, Type type) {
  if (type == Type::f16) return each_as<F16, float>(to, from, count);
  if (type == Type::bf16) return each_as<Bf16, float>(to, from, count);
  not_16_bit();
}

THALWEG_SIMD void widen(float* to, const void* from, std::size_t count, Type type) {
  if (type == Type::f16) return each_as<float, F16>(to, from, count);
  if (type == Type::bf16) return each_as<float, Bf16>(to, from, count);
  not_16_bit();
}

THALWEG_SIMD void combine_widened(float* into, const void* from, std::size_t count, Type type,
                                  Op op) {
  if (type == Type::f16) return each_op<float, float, F16>(into, into, from, count, op);
  if (type == Type::bf16) return each_op<float, float, Bf16>(into, into, from, count, op);
  not_16_bit();
}

}  // namespace thalweg::engine::comm
