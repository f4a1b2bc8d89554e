// Number types of values on a GPU, and their way to and from the float in which all is computed.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "engine/gpu/host_device.h"

namespace thalweg::engine::gpu {

enum class Type { f32, bf16 };

constexpr std::size_t size_of(Type type) {
  return type == Type::f32 ? 4 : 2;
}

/// What 32-bit floats are multiplied in.
enum class Products {
  fp32,  ///< themselves
  tf32   ///< rounded to 10 bits of mantissa, summed in 32-bit floats
};

/// A bfloat16 as it lies in memory: the upper half of a float.
struct Bf16 {
  std::uint16_t bits;
};

THALWEG_HOST_DEVICE inline float load(float x) {
  return x;
}
THALWEG_HOST_DEVICE inline float load(Bf16 x) {
#if defined(__CUDA_ARCH__)
  return __uint_as_float(static_cast<std::uint32_t>(x.bits) << 16);
#else
  return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16);
#endif
}

/// To the nearest, ties to even; NaN stays NaN, with other bits on the host than on a GPU.
template <class T>
THALWEG_HOST_DEVICE T store(float x);
template <>
THALWEG_HOST_DEVICE inline float store<float>(float x) {
  return x;
}
template <>
THALWEG_HOST_DEVICE inline Bf16 store<Bf16>(float x) {
#if defined(__CUDA_ARCH__)
  Bf16 rounded;  // the instruction of sm_80 and newer; two of them become one
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(rounded.bits) : "f"(x));
  return rounded;
#else
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (x != x) return {static_cast<std::uint16_t>((bits >> 16) | 0x40u)};
  return {static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
#endif
}

/// work(T{}) with the C++ type of `type`.
template <class Work>
void with_type(Type type, const Work& work) {
  if (type == Type::f32) return work(float{});
  work(Bf16{});
}

}  // namespace thalweg::engine::gpu
