// cross_entropy as on the reference device, with each exponential taken once. Plain logits, classes
// side by side, are the fast case; images of classes take the reference's way.
#include <algorithm>
#include <cmath>

#include "engine/device/cpu/layer.h"
#include "engine/device/labels.h"
#include "engine/device/reference/layer.h"

namespace thalweg::engine::cpu {

ShardResult cross_entropy(const LossPlan& plan, const LossCall<float>& call) {
  if (plan.class_step != 1) return reference::cross_entropy.f32(plan, call);
  ShardResult result;
  const int classes = plan.data.classes;
  const auto smoothing = static_cast<float>(plan.options.find("smoothing")->as_double());
  for_each_label(plan, *call.batch, [&](const LabelAt& at) {
    const float* x = call.outputs + at.logits;
    float* dx = call.gradient == nullptr ? nullptr : call.gradient + at.logits;
    if (!at.counts()) {
      if (dx != nullptr) std::fill_n(dx, classes, 0.0f);
      return;
    }
    const std::int64_t best = std::max_element(x, x + classes) - x;
    const float largest = x[best];
    float sum = 0;
    for (int c = 0; c < classes; ++c) {
      const float power = std::exp(x[c] - largest);
      sum += power;
      if (dx != nullptr) dx[c] = power;
    }
    float expected = x[at.label];
    if (smoothing > 0) {
      float mean = 0;
      for (int c = 0; c < classes; ++c)
        mean += x[c] / static_cast<float>(classes);
      expected = (1 - smoothing) * expected + smoothing * mean;
    }
    const auto share = static_cast<float>(at.share);
    result.loss_sum += static_cast<double>(share * (largest - expected + std::log(sum)));
    count_label(
        plan, at, [&](std::int64_t c) { return x[c]; }, std::isnan(sum) ? no_label : best, result);
    if (dx == nullptr) return;
    const float factor = call.scale * share / sum;
    const float everywhere = call.scale * share * smoothing / static_cast<float>(classes);
    for (int c = 0; c < classes; ++c)
      dx[c] = dx[c] * factor - everywhere;
    dx[at.label] -= call.scale * share * (1 - smoothing);
  });
  return result;
}

}  // namespace thalweg::engine::cpu
