// Samples blended with others: mixup (Zhang et al., arXiv:1710.09412) and cutmix (Yun et al.,
// arXiv:1905.04899). What a sample gets depends on (seed, epoch, place in the training list)
// alone, so not on ranks, threads or restarts.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/data/augment_formulas.h"
#include "engine/data/dataset.h"
#include "jobspec/fwd.h"

namespace thalweg::engine {

using augment::Blend;

/// Immutable and thread-safe.
class Mixer {
 public:
  /// `options` is the trial's `train.augment` tree. Throws std::invalid_argument where the samples
  /// cannot be blended.
  Mixer(const jobspec::Value& tree, const SampleForm& form);
  bool idle() const { return mixup_ == 0 && cutmix_ == 0; }
  /// `samples`: in the training list.
  Blend blend(std::uint64_t seed, std::uint32_t epoch, std::uint64_t sample,
              std::uint64_t samples) const;
  /// Blends the inputs of sample b into the sample's.
  void apply(const Blend& blend, const float* inputs_b, float* inputs) const;
  /// The same of their targets: a box of those that belong to pixels, else a weighted sum.
  void apply_to_targets(const Blend& blend, const float* targets_b, std::span<float> targets) const;
  /// The same of labels that belong to pixels, where there is a box.
  void apply_to_labels(const Blend& blend, const std::int32_t* labels_b,
                       std::int32_t* labels) const;

 private:
  double mixup_ = 0, cutmix_ = 0;  ///< parameter of the Beta distribution of the shares; 0 = off
  double chance_ = 1;              ///< that a sample is blended
  std::int64_t channels_ = 1;      ///< of images and volumes
  std::array<std::int64_t, 3> size_{1, 1, 1};  ///< (d, h, w)
  template <class T>
  void put_box(const Blend& blend, std::int64_t channels, const T* b, T* a) const;

  std::size_t floats_ = 0;
  std::int64_t target_channels_ = 0;  ///< of targets that belong to pixels; else 0
};

/// Belong to the section `augment`.
std::vector<jobspec::Option> mixing_options();

}  // namespace thalweg::engine
