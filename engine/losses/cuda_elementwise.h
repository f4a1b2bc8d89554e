// What losses that take outputs and targets one by one share. For files that are compiled for GPUs.
#pragma once

#include "engine/losses/cuda.h"

namespace thalweg::engine::cuda {

/// A slice of the shard's targets, a block each. `Term` has `float operator()(float output, float
/// target, float& d_output, double* sums) const`: one target's loss, and what it adds to
/// ShardResult::sums beside absolute_error and target_count, the first two.
template <class Term>
struct EachTarget {
  const float* outputs;
  const float* targets;
  const ShardKey* key;
  std::int64_t of_sample;  ///< targets
  std::int64_t all, slice;
  float* gradient;  ///< null: none; may be `outputs`
  LossSums* sums;
  THALWEG_HOST_DEVICE void operator()(gpu::ThreadBlock block, std::int64_t number) const {
    const std::int64_t counted = key->samples * of_sample, first = number * slice;
    const std::int64_t end = first + slice < all ? first + slice : all;
    const float share = 1.0f / static_cast<float>(of_sample), scale = key->scale * share;
    double mine[1 + max_sums] = {};
    for (std::int64_t i = first + block.rank(); i < end; i += block.size()) {
      float d_output = 0;
      if (i < counted) {
        const float output = outputs[i], target = targets[i];
        mine[0] += static_cast<double>(Term()(output, target, d_output, mine + 1));
        mine[1] += static_cast<double>(output > target ? output - target : target - output);
        mine[2] += 1;
      }
      if (gradient != nullptr) gradient[i] = i < counted ? scale * d_output : 0;
    }
    mine[0] *= static_cast<double>(share);
    write_sums(block, mine, sums + number);
  }
};

/// Adds the loss's work for both passes; images are brought into the order of their targets.
template <class Term>
TensorId add_each_target(Builder& b, TensorId output) {
  const std::int64_t of_sample = b.loss().data.targets, all = b.samples() * of_sample;
  const Slices slices = slices_of(all, 1024);
  const TensorId targets = b.targets(), result = b.result();
  const TensorId sums = b.scratch(slices.count, sizeof(LossSums));
  const TensorId plain = b.in_plain_order(Builder::Pass::both, output);
  const TensorId gradient = b.loss_gradient(output);
  // Without images in between it is the gradient itself, seen flat.
  const bool direct = b.same_memory(plain, output);
  const TensorId flat = direct ? gradient : b.like(plain);
  for (const bool training : {true, false})
    b.loss_kernel({plain, sums, training ? flat : -1}, training, [=](const Frame& frame) {
      gpu::for_each_row(
          frame.stream, slices.count, 256,
          EachTarget<Term>{frame.floats(plain), frame.floats(targets), frame.key, of_sample, all,
                           slices.size, training ? frame.floats(flat) : nullptr,
                           frame.as<LossSums>(sums)});
      add_up_loss(frame, sums, slices.count, result);
    });
  if (!direct) b.loss_in_channels_last(flat, gradient);
  return gradient;
}

}  // namespace thalweg::engine::cuda
