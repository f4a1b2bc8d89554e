#include "engine/sync/micro_batches.h"

#include <algorithm>
#include <numeric>

namespace thalweg::engine {

StepContext global_context(const StepInput& input, const Sharding& sharding) {
  StepContext context = input.context;
  context.samples = sharding.global_batch *
                    static_cast<std::int64_t>(std::max<std::size_t>(1, input.sample_labels));
  return context;
}

bool can_measure_noise(const SyncParts& parts, const BucketSum* sum) {
  return parts.noise_every > 0 && parts.sharding.small_batches() > 1 &&
         (sum == nullptr || sum->adds_up());
}

/// Of n small batches each brings 1/n of its mean gradient.
NoisePair noise_pair(const Sharding& sharding, double small, std::span<const double> large) {
  const auto n = static_cast<double>(sharding.small_batches());
  NoisePair pair;
  pair.small_batch = sharding.micro_batch();
  pair.large_batch = sharding.global_batch;
  pair.small_squares = small * n * n;
  pair.large_squares = std::accumulate(large.begin(), large.end(), 0.0);
  return pair;
}

}  // namespace thalweg::engine
