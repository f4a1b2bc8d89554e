// Vectors of 16 floats for the kernels that are written out by hand; elsewhere oneDNN's do the
// work.
#pragma once

#include "engine/device/cpu/onednn.h"
#include "engine/tensor/half.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define THALWEG_HAS_AVX512_CODE 1
/// Functions that use Vector, and what they inline.
#define THALWEG_AVX512 __attribute__((target("avx512f")))
#define THALWEG_AVX512_INLINE THALWEG_AVX512 __attribute__((always_inline)) inline
#else
#define THALWEG_HAS_AVX512_CODE 0
#endif

namespace thalweg::engine::cpu {

/// Whether this machine can run functions marked THALWEG_AVX512, and oneDNN uses such vectors too:
/// where it is held to shorter ones (ONEDNN_MAX_CPU_ISA) its blocks have 8 channels, and values
/// would change their layout between its kernels and ours.
inline bool has_avx512() {
#if THALWEG_HAS_AVX512_CODE
  return __builtin_cpu_supports("avx512f") && uses_avx512();
#else
  return false;
#endif
}

#if THALWEG_HAS_AVX512_CODE
using Vector = __m512;

// The plain forms of some instructions make g++ 12 warn of what they leave undefined; a full mask
// costs nothing.
inline constexpr __mmask16 whole = 0xffff;

THALWEG_AVX512_INLINE Vector zeros() {
  return _mm512_setzero_ps();
}
THALWEG_AVX512_INLINE Vector all(float value) {
  return _mm512_set1_ps(value);
}
THALWEG_AVX512_INLINE Vector load(const float* from) {
  return _mm512_loadu_ps(from);
}
THALWEG_AVX512_INLINE void store(float* to, Vector v) {
  _mm512_storeu_ps(to, v);
}
THALWEG_AVX512_INLINE Vector load(const Bf16* from) {
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  return _mm512_castsi512_ps(
      _mm512_maskz_slli_epi32(whole, _mm512_maskz_cvtepu16_epi32(whole, bits), 16));
}
/// The upper halves: of values that bf16 holds exactly.
THALWEG_AVX512_INLINE void store_upper(Bf16* to, Vector v) {
  const __m512i bits = _mm512_maskz_srli_epi32(whole, _mm512_castps_si512(v), 16);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_maskz_cvtepi32_epi16(whole, bits));
}
/// Rounded as to_bf16 rounds.
THALWEG_AVX512_INLINE void store(Bf16* to, Vector v) {
  const __m512i bits = _mm512_castps_si512(v);
  const __m512i odd =
      _mm512_and_epi32(_mm512_maskz_srli_epi32(whole, bits, 16), _mm512_set1_epi32(1));
  const __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
  const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
  store_upper(to, _mm512_castsi512_ps(
                      _mm512_mask_or_epi32(rounded, nan, bits, _mm512_set1_epi32(0x400000))));
}
THALWEG_AVX512_INLINE Vector plus(Vector a, Vector b) {
  return _mm512_add_ps(a, b);
}
/// a b + c, rounded once
THALWEG_AVX512_INLINE Vector times_plus(Vector a, Vector b, Vector c) {
  return _mm512_fmadd_ps(a, b, c);
}
/// c - a b, rounded once
THALWEG_AVX512_INLINE Vector minus_product(Vector a, Vector b, Vector c) {
  return _mm512_fnmadd_ps(a, b, c);
}
#endif

}  // namespace thalweg::engine::cpu
