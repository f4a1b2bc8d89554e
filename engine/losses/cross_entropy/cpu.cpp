// cross_entropy as on the reference device, with each exponential taken once. Plain logits, classes
// side by side, are the fast case; images of classes and weights of smoothed or blended labels
// take the reference's way.
#include <algorithm>
#include <cmath>

#include "engine/device/cpu/exponential.h"
#include "engine/device/cpu/lane_sum.h"
#include "engine/device/labels.h"
#include "engine/device/reference/layer.h"
#include "engine/losses/cross_entropy/options.h"
#include "engine/tensor/simd.h"

namespace thalweg::engine::cpu {
namespace {

struct Powers {
  float largest, sum;
};

/// powers[c] = exp(x[c] - largest); null: only their sum.
THALWEG_SIMD Powers powers_of(const float* __restrict x, int classes, float* __restrict powers) {
  const float largest = lane_max(classes, [&](std::int64_t c) { return x[c]; });
  if (powers == nullptr)
    return {largest,
            lane_sum(classes, [&](std::int64_t c) { return exponential(x[c] - largest); })};
  return {largest, lane_sum(classes, [&](std::int64_t c) {
            return powers[c] = exponential(x[c] - largest);
          })};
}

THALWEG_SIMD void to_gradients(float factor, float everywhere, int classes,
                               float* __restrict powers) {
  for (int c = 0; c < classes; ++c)
    powers[c] = powers[c] * factor - everywhere;
}

}  // namespace

ShardResult cross_entropy(const LossPlan& plan, const LossCall<float>& call) {
  const auto smoothing = static_cast<float>(plan.options_as<CrossEntropyOptions>().smoothing);
  const bool of_several = smoothing > 0 || call.batch->labels_b != nullptr;
  if (plan.class_step != 1 || (of_several && !plan.weights.empty()))
    return plan.kind->reference->f32(plan, call);
  ShardResult result;
  const int classes = plan.data.classes;
  for_each_label(plan, *call.batch, [&](const LabelAt& at) {
    const float* x = call.outputs + at.logits;
    float* dx = call.gradient == nullptr ? nullptr : call.gradient + at.logits;
    if (!at.counts()) {
      if (dx != nullptr) std::fill_n(dx, classes, 0.0f);
      return;
    }
    const auto [largest, sum] = powers_of(x, classes, dx);
    const auto other = static_cast<float>(at.share_b);
    float expected = (1 - other) * x[at.label] + other * x[at.label_b];
    if (smoothing > 0) {
      float mean = 0;
      for (int c = 0; c < classes; ++c)
        mean += x[c] / static_cast<float>(classes);
      expected = (1 - smoothing) * expected + smoothing * mean;
    }
    const auto share = static_cast<float>(at.share * plan.weight(at.label));
    const float loss = largest - expected + std::log(sum);
    result.loss_sum += static_cast<double>(share * loss);
    result.sums[position_loss] += static_cast<double>(loss) * plan.weight(at.label);
    const std::int64_t best = std::isnan(sum) ? no_label : std::find(x, x + classes, largest) - x;
    count_label(
        plan, at, [&](std::int64_t c) { return x[c]; }, best, result);
    if (dx == nullptr) return;
    to_gradients(call.scale * share / sum,
                 call.scale * share * smoothing / static_cast<float>(classes), classes, dx);
    dx[at.label] -= call.scale * share * (1 - smoothing) * (1 - other);
    dx[at.label_b] -= call.scale * share * (1 - smoothing) * other;
  });
  return result;
}

}  // namespace thalweg::engine::cpu
