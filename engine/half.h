// 16-bit floats: IEEE binary16 and bfloat16, to and from binary32, rounding to nearest even.
// Plain integer and float operations, so that loops over them vectorise on any CPU.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace thalweg::engine {

struct F16 {
  std::uint16_t bits;
};
struct Bf16 {
  std::uint16_t bits;
};

__attribute__((always_inline)) inline float to_float(Bf16 x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16U);
}

/// NaN stays NaN (quiet).
__attribute__((always_inline)) inline Bf16 to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7FFFU + (bits >> 16U & 1U)) >> 16U;
  const std::uint32_t quiet = bits >> 16U | 0x40U;
  return {static_cast<std::uint16_t>((bits & 0x7FFFFFFFU) > 0x7F800000U ? quiet : rounded)};
}

__attribute__((always_inline)) inline float to_float(F16 x) {
  const std::uint32_t sign = static_cast<std::uint32_t>(x.bits & 0x8000U) << 16U;
  const std::uint32_t rest = static_cast<std::uint32_t>(x.bits & 0x7FFFU) << 13U;
  // 112 moves the exponent from bias 15 to 127. Denormals get 2^-14 more, which goes again: no
  // float on the way is denormal, since those may count as 0 (engine/threads/denormals.h).
  const std::uint32_t normal = rest + 0x38000000U;
  const float small = std::bit_cast<float>(rest + 0x38800000U) - 0x1p-14F;
  const std::uint32_t finite = rest < 0x800000U ? std::bit_cast<std::uint32_t>(small) : normal;
  const std::uint32_t special = rest | 0x7F800000U;
  return std::bit_cast<float>(sign | ((x.bits & 0x7C00U) == 0x7C00U ? special : finite));
}

/// Above 65,504 and a half step: infinity. NaN stays NaN (quiet).
__attribute__((always_inline)) inline F16 to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16U & 0x8000U;
  const std::uint32_t size = bits & 0x7FFFFFFFU;
  const std::uint32_t normal = (size - 0x38000000U + 0x0FFFU + (size >> 13U & 1U)) >> 13U;
  // Below 2^-14, adding 1/2 lets the adder round at binary16's last denormal bit, 2^-24.
  const float shifted = std::bit_cast<float>(size) + 0.5F;
  const std::uint32_t denormal = std::bit_cast<std::uint32_t>(shifted) - 0x3F000000U;
  std::uint32_t result = size < 0x38800000U ? denormal : normal;
  result = size >= 0x47800000U ? 0x7C00U : result;
  result = size > 0x7F800000U ? 0x7E00U : result;
  return {static_cast<std::uint16_t>(sign | result)};
}

/// As the type that sums are made in: 16-bit floats as f32, others as they are.
template <class T>
__attribute__((always_inline)) inline auto load(T value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return value;
  } else {
    return to_float(value);
  }
}

/// Rounded to T.
template <class T, class V>
__attribute__((always_inline)) inline T store(V value) {
  if constexpr (std::is_same_v<T, F16>) {
    return to_f16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, Bf16>) {
    return to_bf16(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

}  // namespace thalweg::engine
