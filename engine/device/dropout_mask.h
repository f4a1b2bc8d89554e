// Which elements dropout keeps: a function of (seed, step, layer, position of the sample in the
// global batch, element), so that it depends neither on the device nor on the number of ranks and
// lanes.
#pragma once

#include <array>
#include <cstdint>

#include "engine/device/device.h"
#include "engine/tensor/random.h"

namespace thalweg::engine {

class DropoutMask {
 public:
  explicit DropoutMask(double probability)
      : threshold_(static_cast<std::uint64_t>(probability * 0x1p32)) {}

  /// Bits for elements 4 * group .. 4 * group + 3 of sample n of the batch; `features` elements a
  /// sample.
  static std::array<std::uint32_t, 4> bits(const Batch& batch, int layer, int n,
                                           std::int64_t features, std::int64_t group) {
    const std::uint64_t groups = (static_cast<std::uint64_t>(features) + 3) / 4;
    const std::uint64_t sample = batch.first_sample + static_cast<std::uint64_t>(n);
    // The layer's number takes the top 16 bits; samples and groups are far below 2^48.
    return philox(batch.seed, Stream::dropout, batch.step,
                  (static_cast<std::uint64_t>(layer) << 48) + sample * groups +
                      static_cast<std::uint64_t>(group));
  }

  bool keeps(std::uint32_t bits) const { return bits >= threshold_; }

  bool operator()(const Batch& batch, int layer, int n, std::int64_t features,
                  std::int64_t element) const {
    return keeps(bits(batch, layer, n, features, element / 4)[element % 4]);
  }

 private:
  std::uint64_t threshold_;
};

}  // namespace thalweg::engine
