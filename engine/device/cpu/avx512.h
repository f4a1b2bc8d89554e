// Vectors of 16 floats for the kernels that are written out by hand; elsewhere oneDNN's do the
// work.
#pragma once

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

/// Whether this machine can run functions marked THALWEG_AVX512.
inline bool has_avx512() {
#if THALWEG_HAS_AVX512_CODE
  return __builtin_cpu_supports("avx512f");
#else
  return false;
#endif
}

#if THALWEG_HAS_AVX512_CODE
using Vector = __m512;

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
