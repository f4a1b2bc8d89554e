// softmax_cross_entropy as on the reference device, with each exponential taken once.
#include <algorithm>
#include <cmath>

#include "engine/device/cpu/layer.h"
#include "engine/device/device.h"

namespace thalweg::engine::cpu {

ShardResult softmax_cross_entropy(const float* logits, const std::int32_t* labels, int samples,
                                  int classes, float scale, float* gradient) {
  ShardResult result;
  for (int n = 0; n < samples; ++n, logits += classes) {
    const std::int32_t label = labels[n];
    if (label < 0 || label >= classes) refuse_label(label, n, classes);
    const std::int64_t best = std::max_element(logits, logits + classes) - logits;
    const float largest = logits[best];
    float sum = 0;
    for (int c = 0; c < classes; ++c) {
      const float power = std::exp(logits[c] - largest);
      sum += power;
      if (gradient != nullptr) gradient[c] = power;
    }
    result.loss_sum += static_cast<double>(largest - logits[label] + std::log(sum));
    if (best != label || std::isnan(sum)) ++result.wrong;
    if (gradient == nullptr) continue;
    const float factor = scale / sum;
    for (int c = 0; c < classes; ++c)
      gradient[c] *= factor;
    gradient[label] -= scale;
    gradient += classes;
  }
  return result;
}

}  // namespace thalweg::engine::cpu
