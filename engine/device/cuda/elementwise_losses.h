// What losses that take outputs and targets one by one share. For files that are compiled for GPUs.
#pragma once

#include "engine/device/cuda/loss.h"
#include "engine/gpu/loops.h"

namespace thalweg::engine::cuda {

/// A sample's targets, a team each. `Term` has `float operator()(float output, float target, float&
/// slope, double* sums) const`: one target's loss, and what it adds to ShardResult::sums beside
/// absolute_error and target_count.
template <class Term>
struct EachTarget {
  const float* outputs;
  const float* targets;
  const ShardKey* key;
  std::int64_t count;  ///< of a sample
  float* gradient;     ///< null: none
  LossSums* sums;
  THALWEG_HOST_DEVICE void operator()(gpu::Team team, std::int64_t n) const {
    const bool counts = n < key->samples;
    const float share = 1.0f / static_cast<float>(count);
    double loss = 0;
    double mine[most_sums] = {};
    for (std::int64_t i = n * count + team.rank(); i < (n + 1) * count; i += team.size()) {
      float slope = 0;
      if (counts) {
        const float output = outputs[i], target = targets[i];
        loss += static_cast<double>(Term()(output, target, slope, mine));
        mine[0] += static_cast<double>(output > target ? output - target : target - output);
        mine[1] += 1;
      }
      if (gradient != nullptr) gradient[i] = key->scale * share * slope;
    }
    LossSums all{};
    all.of[0] = team.sum(loss) * static_cast<double>(share);
    for (std::size_t k = 0; k < most_sums; ++k)
      all.of[1 + k] = team.sum(mine[k]);
    if (team.rank() == 0) sums[n] = all;
  }
};

/// Adds the loss's work for both passes; images are brought into the order of their targets.
template <class Term>
void add_each_target(Builder& b, TensorId output, TensorId gradient) {
  const std::int64_t samples = b.samples(), count = b.loss().data.targets;
  const TensorId targets = b.targets(), result = b.result();
  const TensorId sums = b.scratch(samples, sizeof(LossSums));
  const TensorId plain = b.in_plain_order(Builder::Pass::both, output);
  // Without images in between it is the gradient itself, seen flat.
  const bool direct = b.same_memory(plain, output);
  const TensorId slope = direct ? gradient : b.like(plain);
  for (const bool training : {true, false})
    b.loss_kernel({plain, sums, training ? slope : -1}, training, [=](const Frame& frame) {
      gpu::for_each_row(
          frame.queue, samples, 128,
          EachTarget<Term>{frame.floats(plain), frame.floats(targets), frame.key, count,
                           training ? frame.floats(slope) : nullptr, frame.as<LossSums>(sums)});
      add_up_loss(frame, sums, samples, result);
    });
  if (!direct) b.loss_in_channels_last(slope, gradient);
}

}  // namespace thalweg::engine::cuda
