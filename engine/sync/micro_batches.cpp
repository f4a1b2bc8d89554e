#include "engine/sync/micro_batches.h"

#include <algorithm>
#include <numeric>

namespace thalweg::engine {

SamplePlace place_of(std::size_t number, const StepInput& input, const Sharding& sharding) {
  if (input.shards == nullptr)
    return {static_cast<std::uint32_t>(input.context.step), sharding.first_sample(number)};
  const auto micro_batches = static_cast<std::size_t>(sharding.micro_batches);
  const std::int64_t wanted = input.shards[number / micro_batches];
  return {static_cast<std::uint32_t>(wanted / sharding.shards),
          static_cast<std::uint64_t>(wanted % sharding.shards) *
                  static_cast<std::uint64_t>(sharding.shard_batch()) +
              number % micro_batches * static_cast<std::uint64_t>(sharding.micro_batch())};
}

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
