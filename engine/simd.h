// One loop, compiled for several vector widths; the widest one this CPU has is picked at load time.
// Results are the same bits on every width: the build forbids fusing (-ffp-contract=off), and
// sqrt and division are correctly rounded. x86-64-v4 is AVX-512 with 16-bit integers, without which
// gcc halves the vectors of loops over 16-bit floats.
#pragma once

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define THALWEG_SIMD __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define THALWEG_SIMD
#endif
// Loop bodies must be inlined into the cloned function to be vectorised for its width.
#define THALWEG_INLINE __attribute__((always_inline)) inline
