// What losses that take outputs and targets one by one share.
#pragma once

#include <cstdint>

#include "engine/device/device.h"
#include "engine/device/reference/layer.h"

namespace thalweg::engine::reference {

/// The sums that losses of targets count.
enum TargetSum : std::size_t { absolute_error, target_count };

/// `term(output, target, &gradient)` is one target's loss; the loss of a sample is the mean over
/// its targets.
template <class T, class Term>
ShardResult each_target(const LossPlan& plan, const LossCall<T>& call, Term term) {
  ShardResult result;
  const std::int64_t count = plan.data.targets;
  const T share = T{1} / static_cast<T>(count);
  for (int n = 0; n < call.batch->samples; ++n) {
    T sum = 0;
    for (std::int64_t i = n * count; i < (n + 1) * count; ++i) {
      const T output = call.outputs[i], target = static_cast<T>(call.batch->targets[i]);
      T gradient = 0;
      sum += term(output, target, gradient);
      if (call.gradient != nullptr) call.gradient[i] = call.scale * share * gradient;
      result.sums[absolute_error] +=
          static_cast<double>(output > target ? output - target : target - output);
    }
    result.loss_sum += static_cast<double>(sum * share);
    result.sums[target_count] += static_cast<double>(count);
  }
  return result;
}

}  // namespace thalweg::engine::reference
