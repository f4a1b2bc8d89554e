// softmax_cross_entropy: loss = log(sum_c exp(x[c])) - x[label], summed over samples; its gradient
// is softmax(x) - one_hot(label). The largest logit is taken out first, so that exp cannot
// overflow.
#include <algorithm>
#include <cmath>

#include "engine/device/reference/layer.h"

namespace thalweg::engine::reference {
namespace {

template <class T>
ShardResult loss(const T* logits, const std::int32_t* labels, int samples, int classes, T scale,
                 T* gradient) {
  ShardResult result;
  for (int n = 0; n < samples; ++n) {
    const T* x = logits + static_cast<std::int64_t>(n) * classes;
    const std::int32_t label = labels[n];
    if (label < 0 || label >= classes) refuse_label(label, n, classes);
    const std::int64_t best = std::max_element(x, x + classes) - x;
    T sum = 0;
    for (int c = 0; c < classes; ++c)
      sum += std::exp(x[c] - x[best]);
    result.loss_sum += static_cast<double>(x[best] - x[label] + std::log(sum));
    if (best != label || std::isnan(sum)) ++result.wrong;
    if (gradient == nullptr) continue;
    for (int c = 0; c < classes; ++c)
      gradient[static_cast<std::int64_t>(n) * classes + c] =
          scale * (std::exp(x[c] - x[best]) / sum - (c == label ? T{1} : T{0}));
  }
  return result;
}

}  // namespace

const Loss softmax_cross_entropy{loss<float>, loss<double>};

}  // namespace thalweg::engine::reference
