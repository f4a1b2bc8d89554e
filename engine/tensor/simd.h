// One loop, compiled for several vector widths; the widest that this CPU has is picked at load
// time. The bits are the same on every width: the build forbids fusing multiplications and
// additions.
#pragma once

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define THALWEG_TENSOR_SIMD __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define THALWEG_TENSOR_SIMD
#endif
