// Which elements dropout keeps: a function of (seed, step, layer, position of the sample in the
// global batch, element), so that it depends neither on the device nor on the number of ranks and
// lanes. Its constexpr functions are called on GPUs too.
#pragma once

#include <cstdint>

#include "engine/device/batch.h"
#include "engine/tensor/random.h"

namespace thalweg::engine {

/// The masks of one dropout layer with `features` elements a sample.
class DropoutMask {
 public:
  DropoutMask(double probability, int layer, std::int64_t features)
      : threshold_(static_cast<std::uint32_t>(probability * 0x1p32)),
        layer_(static_cast<std::uint64_t>(layer)),
        groups_(static_cast<std::uint64_t>(features + 3) / 4) {}

  /// An element is kept where its 32 random bits are not below the threshold.
  constexpr std::uint32_t threshold() const { return threshold_; }

  /// One draw of philox serves 4 elements. This is the counter for elements 0 to 3 of sample n of
  /// the batch; the next 4 elements have the next counter. The layer's number takes the top 16
  /// bits; samples and groups are far below 2^48.
  std::uint64_t counter(const Batch& batch, int n) const {
    return counter(batch.first_sample + static_cast<std::uint64_t>(n));
  }
  /// The same of a sample by its position in the global batch.
  constexpr std::uint64_t counter(std::uint64_t sample) const {
    return (layer_ << 48) + sample * groups_;
  }

  bool keeps(const Batch& batch, int n, std::int64_t element) const {
    const auto bits = philox(batch.seed, Stream::dropout, batch.step,
                             counter(batch, n) + static_cast<std::uint64_t>(element) / 4);
    return bits[static_cast<std::size_t>(element % 4)] >= threshold_;
  }

 private:
  std::uint32_t threshold_;
  std::uint64_t layer_;
  std::uint64_t groups_;
};

}  // namespace thalweg::engine
