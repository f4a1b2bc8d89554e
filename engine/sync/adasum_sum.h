// Adasum over the ranks: combines gradients so that what is parallel is averaged and what is
// orthogonal is added.
#pragma once

#include <span>
#include <vector>

#include "engine/comm/group.h"
#include "engine/nn/model.h"
#include "engine/sync/bucket_sum.h"

namespace thalweg::engine {

/// a = (1 - a.b / (2 |a|^2)) a + (1 - a.b / (2 |b|^2)) b for each tensor; tensor t ends at ends[t].
/// Dots in double; a factor whose norm is practically 0 is 1. Maleki et al., arXiv:2006.02924.
void adasum(float* a, const float* b, std::span<const std::size_t> ends);

/// Rank 0's with rank 1's, 2's with 3's, then those pairs, and so on. Needs a power of two ranks.
class AdasumSum : public BucketSum {
 public:
  AdasumSum(comm::Group& group, const Model& model) : group_(group), model_(model) {}
  std::unique_ptr<comm::Request> start(const GradientPart& part, std::int64_t step) override;

 private:
  comm::Group& group_;
  const Model& model_;
  std::vector<float> all_;
};

}  // namespace thalweg::engine
