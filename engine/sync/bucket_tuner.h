// Which bucket sizes make the shortest steps: measured while training runs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/sync/buckets.h"

namespace thalweg::engine {

/// Sizes that group this model's parameters differently: `usual` first, the last one bucket.
std::vector<BucketSizes> bucket_candidates(const std::vector<ParameterInfo>& parameters,
                                           const std::vector<int>& ready_order,
                                           const BucketSizes& usual);

/// The candidate with the shortest step; the first one unless another is shorter by a few percent.
std::size_t choose_buckets(const std::vector<double>& step_ms);

struct BucketChoice {
  BucketSizes sizes;
  std::string text;  ///< for the journal
};

/// Counts steps and takes their times; which step has which sizes depends on nothing else, so the
/// ranks keep in step without a message.
class BucketTuner {
 public:
  /// The same on all ranks.
  explicit BucketTuner(std::vector<BucketSizes> candidates);

  /// Of the next step; before measured().
  const BucketSizes& sizes() const { return candidates_[candidate()]; }
  /// A step with sizes() took so long on this rank.
  void add(double ms);
  /// Whether all steps have been made.
  bool measured() const;
  /// Of this rank, by candidate.
  std::vector<double> medians() const;
  /// `step_ms`: the same numbers on all ranks, by candidate.
  BucketChoice choose(const std::vector<double>& step_ms) const;

 private:
  std::size_t candidate() const;

  std::vector<BucketSizes> candidates_;
  std::vector<std::vector<double>> times_;  ///< by candidate
  std::size_t steps_ = 0;
};

}  // namespace thalweg::engine
