// cross_entropy: at each position, sum_c weight[c] q[c] (log(sum_k exp(x[k])) - x[c]), where q is
// 1 - smoothing at the label and smoothing / classes everywhere on top (Szegedy et al., CVPR 2016;
// with class weights as in PyTorch); the loss of a sample is the mean over its labels that count.
// The largest logit is taken out first, so that exp cannot overflow.
#include <algorithm>
#include <cmath>

#include "engine/device/labels.h"
#include "engine/device/reference/layer.h"

namespace thalweg::engine::reference {
namespace {

template <class T>
ShardResult loss(const LossPlan& plan, const LossCall<T>& call) {
  ShardResult result;
  const int classes = plan.data.classes;
  const T smoothing = static_cast<T>(plan.options.find("smoothing")->as_double());
  for_each_label(plan, *call.batch, [&](const LabelAt& at) {
    const T* x = call.outputs + at.logits;
    T* dx = call.gradient == nullptr ? nullptr : call.gradient + at.logits;
    const auto logit = [&](std::int64_t c) { return x[c * plan.class_step]; };
    if (!at.counts()) {
      for (int c = 0; dx != nullptr && c < classes; ++c)
        dx[c * plan.class_step] = 0;
      return;
    }
    std::int64_t best = 0;
    for (int c = 0; c < classes; ++c)
      if (logit(c) > logit(best)) best = c;
    T sum = 0;
    for (int c = 0; c < classes; ++c)
      sum += std::exp(logit(c) - logit(best));
    const T other = static_cast<T>(at.partner_part);
    const auto wanted = [&](int c) {
      const T labelled = (c == at.label ? 1 - other : T{0}) + (c == at.partner ? other : T{0});
      return static_cast<T>(plan.weight(c)) *
             (smoothing / static_cast<T>(classes) + (1 - smoothing) * labelled);
    };
    T all = 0, expected = 0;
    for (int c = 0; c < classes; ++c) {
      all += wanted(c);
      expected += wanted(c) * (logit(c) - logit(best));
    }
    const T share = static_cast<T>(at.share);
    result.loss_sum += static_cast<double>(share * (all * std::log(sum) - expected));
    count_label(plan, at, logit, std::isnan(sum) ? no_label : best, result);
    for (int c = 0; dx != nullptr && c < classes; ++c)
      dx[c * plan.class_step] =
          call.scale * share * (all * std::exp(logit(c) - logit(best)) / sum - wanted(c));
  });
  return result;
}

}  // namespace

const Loss cross_entropy{loss<float>, loss<double>};

}  // namespace thalweg::engine::reference
