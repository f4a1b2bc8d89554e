// cross_entropy: at each position, sum_c weight[c] q[c] (log(sum_k exp(x[k])) - x[c]), where q is
// 1 - smoothing at the label and smoothing / classes everywhere on top (Szegedy et al., CVPR 2016;
// with class weights as in PyTorch); the loss of a sample is the mean over its labels that count.
// The largest logit is taken out first, so that exp cannot overflow.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "engine/device/labels.h"
#include "engine/losses/cross_entropy/options.h"
#include "engine/losses/row.h"

namespace thalweg::engine {
namespace cpu {
LossFunction cross_entropy;
}

namespace reference {
namespace {

void cross_entropy_plan(LossPlan& plan, const jobspec::Options& options) {
  plan.options = CrossEntropyOptions{options.real("smoothing")};
  for (const jobspec::Value& weight : options.list("class_weights")) {
    if (!weight.is_number() || !(weight.as_double() >= 0))
      throw std::invalid_argument("loss.class_weights: expected numbers of at least 0, found " +
                                  weight.to_text());
    plan.weights.push_back(weight.as_double());
  }
  if (!plan.weights.empty() && plan.weights.size() != static_cast<std::size_t>(plan.data.classes))
    throw std::invalid_argument("loss.class_weights: " + std::to_string(plan.weights.size()) +
                                " weights for " + std::to_string(plan.data.classes) + " classes");
}

template <class T>
ShardResult cross_entropy_loss(const LossPlan& plan, const LossCall<T>& call) {
  ShardResult result;
  const int classes = plan.data.classes;
  const T smoothing = static_cast<T>(plan.options_as<CrossEntropyOptions>().smoothing);
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
    const T other = static_cast<T>(at.share_b);
    const auto wanted = [&](int c) {
      const T labelled = (c == at.label ? 1 - other : T{0}) + (c == at.label_b ? other : T{0});
      return static_cast<T>(plan.weight(c)) *
             (smoothing / static_cast<T>(classes) + (1 - smoothing) * labelled);
    };
    T all = 0, expected = 0;
    for (int c = 0; c < classes; ++c) {
      all += wanted(c);
      expected += wanted(c) * (logit(c) - logit(best));
    }
    const T share = static_cast<T>(at.share);
    const T loss = all * std::log(sum) - expected;
    result.loss_sum += static_cast<double>(share * loss);
    result.sums[position_loss] += static_cast<double>(loss);
    count_label(plan, at, logit, std::isnan(sum) ? no_label : best, result);
    for (int c = 0; dx != nullptr && c < classes; ++c)
      dx[c * plan.class_step] =
          call.scale * share * (all * std::exp(logit(c) - logit(best)) / sum - wanted(c));
  });
  return result;
}

}  // namespace

const Loss cross_entropy{cross_entropy_loss<float>, cross_entropy_loss<double>};

}  // namespace reference

namespace losses {

namespace {

bool has_five_classes(const LossPlan& plan) {
  return plan.data.classes > 5;
}

bool has_positions(const LossPlan& plan) {
  return plan.position_step == plan.data.classes;  // images are no language
}

bool of_images(const LossPlan& plan) {
  return plan.of_images();
}

const Metric top5{"top5_error", 2, 1, has_five_classes};
const Metric perplexity{"perplexity", exp_of + position_loss, counted_labels, has_positions};
const Metric iou{"iou", 3, 4, of_images};

}  // namespace

LossKind cross_entropy() {
  return {
      .doc =
          "cross-entropy of the softmax of the logits; a sample with many labels (positions, "
          "pixels) counts by the mean over its labels that are not ignored. So all samples weigh "
          "the same; PyTorch takes the mean over all labels of a batch",
      .options =
          {jobspec::float_option("smoothing", 0, 0, 1,
                                 "share of the label spread over all classes"),
           jobspec::list_option(
               "class_weights", jobspec::List{},
               "what the loss of each class is multiplied by, one number a class; empty = all 1")},
      .plan = reference::cross_entropy_plan,
      .reference = &reference::cross_entropy,
      .cpu = cpu::cross_entropy,
      .metrics = {error, accuracy, top5, perplexity, iou},
      .blends_labels = true,
      .any_logits = true};
}

}  // namespace losses
}  // namespace thalweg::engine
