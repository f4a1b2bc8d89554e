// Division by a number that is known when a kernel is launched: a multiplication and a shift in
// place of the twenty-odd instructions of a GPU's division (Granlund and Montgomery, PLDI 1994).
#pragma once

#include <cstdint>

#include "engine/gpu/host_device.h"

namespace thalweg::engine::gpu {

/// Of numbers below 2^31 by one from 1 to 2^31.
class Divisor {
 public:
  explicit Divisor(std::uint32_t by = 1) : by_(by) {
    while ((std::uint64_t{1} << shift_) < by)
      ++shift_;
    const std::uint64_t above = (std::uint64_t{1} << shift_) - by;
    factor_ = static_cast<std::uint32_t>((above << 32) / by + 1);
  }

  /// Gives n / by and leaves n % by in n.
  THALWEG_HOST_DEVICE std::uint32_t split(std::uint32_t& n) const {
#if defined(__CUDA_ARCH__)
    const std::uint32_t high = __umulhi(n, factor_);
#else
    const auto high = static_cast<std::uint32_t>(std::uint64_t{n} * factor_ >> 32);
#endif
    const std::uint32_t quotient = (high + n) >> shift_;
    n -= quotient * by_;
    return quotient;
  }
  THALWEG_HOST_DEVICE std::uint32_t by() const {
    return by_;
  }

 private:
  std::uint32_t by_, factor_ = 0, shift_ = 0;
};

}  // namespace thalweg::engine::gpu
