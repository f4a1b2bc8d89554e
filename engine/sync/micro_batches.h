// What all devices do alike with a step's micro-batches: the order in which they are added up, what
// each brings beside its gradient, and what their squares tell.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/sync/bucket_sum.h"
#include "engine/sync/mode.h"

namespace thalweg::engine {

/// What a shard brings behind the model's statistics, to be summed with them.
enum StepStat : std::size_t { stat_loss, stat_squares, stat_stop, step_stats };

/// Micro-batches of a shard are added up in the tree of comm::ShardTree, by the way of a binary
/// counter: `count` of them in each of n shards give the bits of count * n shards (count a power of
/// two). Partial sums are a stack, the first one the shard's own memory. compute(micro, top): a
/// micro-batch in partial sum `top`; join(into, last): the next one is added to `into`, after the
/// last micro-batch or not.
template <class Compute, class Join>
void add_up_micro_batches(int count, const Compute& compute, const Join& join) {
  for (int micro = 0; micro < count; ++micro) {
    const auto before = static_cast<unsigned>(micro);
    const bool last = micro + 1 == count;
    auto top = static_cast<std::size_t>(std::popcount(before));
    compute(micro, top);
    for (int joins = last ? std::popcount(before) : std::countr_one(before); joins > 0; --joins)
      join(--top, last);
  }
}

/// Partial sums beside the shard's own memory.
inline std::size_t spare_sums(int count) {
  return static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(count)) - 1);
}

/// Of which samples a micro-batch is: keys of their random numbers.
struct SamplePlace {
  std::uint32_t step = 0;
  std::uint64_t first_sample = 0;  ///< position in the global batch
};
/// Of this rank's micro-batch `number`; StepInput::shards may say others than Sharding.
SamplePlace place_of(std::size_t number, const StepInput& input, const Sharding& sharding);

/// `context` with the positions of the global batch.
StepContext global_context(const StepInput& input, const Sharding& sharding);

/// Whether StepOutcome::noise can be had: a pair needs smaller batches than the whole one, and the
/// mean over all of them.
bool can_measure_noise(const SyncParts& parts, const BucketSum* sum);

/// `small`: of the micro-batch's part of the gradient, summed over the ranks; `large`: of the whole
/// gradient, by parameter.
NoisePair noise_pair(const Sharding& sharding, double small, std::span<const double> large);

}  // namespace thalweg::engine
