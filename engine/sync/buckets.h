// Gradients grouped for communication: few large messages instead of many small ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/nn/model.h"

namespace thalweg::engine {

/// A contiguous run of the flat gradient memory and the parameters in it.
struct Bucket {
  std::size_t offset = 0;  ///< in floats
  std::size_t count = 0;   ///< in floats, gaps and padding included
  std::vector<int> parameters;
};

/// Sizes of PyTorch's DistributedDataParallel (Li et al., arXiv:2006.15704): a small first bucket
/// starts communication early, larger ones then use the wire well.
struct BucketSizes {
  std::size_t first_bytes = std::size_t{1} << 20;
  std::size_t bytes = std::size_t{25} << 20;  ///< 0 = a bucket closes as soon as it can
};

/// Buckets in the order in which backward fills them, each one range of memory, so that it can be
/// summed in place. A bucket closes when it has reached its size and nothing is missing between its
/// parameters but what went with earlier buckets; there it is split.
std::vector<Bucket> plan_buckets(const std::vector<ParameterInfo>& parameters,
                                 const std::vector<int>& ready_order, const BucketSizes& sizes);

/// Equal for equal plans.
std::uint64_t hash_of(const std::vector<Bucket>& buckets);

}  // namespace thalweg::engine
