// The gradient noise scale while training, from the squared norms of small and large batches.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/attempt/journal.h"
#include "engine/sync/mode.h"

namespace thalweg::engine {

/// McCandlish et al., arXiv:1812.06162, appendix A.1. From every pair come unbiased estimates
///   |G|^2 = (B |G_B|^2 - b |G_b|^2) / (B - b),  tr(Sigma) = (|G_b|^2 - |G_B|^2) / (1/b - 1/B)
/// of the true gradient's squared norm and the sum of the variances of a sample's gradient. Both
/// are noisy: each has a running mean of its own, and B_simple = tr(Sigma) / |G|^2 is the ratio of
/// the means.
class NoiseScale {
 public:
  /// `beta`: what the past weighs in the running means, 0 <= beta < 1.
  explicit NoiseScale(double beta = 0.99) : beta_(beta) {}

  /// Leaves out what is not finite.
  void add(const NoisePair& pair);
  /// noise/trace and noise/squared_norm, and where both means are above 0, noise/b_simple in
  /// samples. Nothing before the first pair.
  std::vector<MetricPoint> report(std::int64_t step) const;

  double trace() const { return trace_ / weight_; }
  double squared_norm() const { return squared_norm_ / weight_; }

  /// In samples; nothing before both means are above 0.
  std::optional<double> b_simple() const;

  /// What a checkpoint keeps.
  std::vector<double> state() const { return {trace_, squared_norm_, weight_}; }
  /// An empty one stands for nothing measured. Throws std::invalid_argument.
  void restore(const std::vector<double>& state);

 private:
  double beta_;
  double trace_ = 0, squared_norm_ = 0;
  double weight_ = 0;  ///< of all pairs so far: what is missing to 1 is the start's zero
};

}  // namespace thalweg::engine
