// Numbers too small for a float's full precision (below 1.2e-38) cost a processor a hundred cycles
// each. Moments of weights whose gradients are 0 decay into them and make steps several times
// slower, so training takes them for 0, as PyTorch's set_flush_denormal does.
#pragma once

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace thalweg::engine {

/// In this thread, and in those that are started from it, while this lives: denormals are 0, as
/// operands and as results.
class FlushDenormals {
 public:
  FlushDenormals() : before_(mode()) { set_mode(before_ | flush_bits); }
  ~FlushDenormals() { set_mode(before_); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if defined(__SSE2__)
  using Mode = unsigned;
  static constexpr Mode flush_bits = 0x8040;  // FTZ and DAZ
  static Mode mode() {
    return _mm_getcsr();
  }
  static void set_mode(Mode mode) {
    _mm_setcsr(mode);
  }
#elif defined(__aarch64__)
  using Mode = unsigned long;
  static constexpr Mode flush_bits = 1UL << 24;  // FZ
  static Mode mode() {
    Mode mode = 0;
    asm volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
  }
  static void set_mode(Mode mode) {
    asm volatile("msr fpcr, %0" : : "r"(mode));
  }
#else
  using Mode = unsigned;
  static constexpr Mode flush_bits = 0;
  static Mode mode() {
    return 0;
  }
  static void set_mode(Mode) {}
#endif
  Mode before_;
};

}  // namespace thalweg::engine
