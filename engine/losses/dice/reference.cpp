// dice: 1 - mean over classes c of (2 sum_p s_pc t_pc + e) / (sum_p s_pc + sum_p t_pc + e), s the
// softmax at position p, t the one-hot label, over the positions of a sample that count (Milletari
// et al., V-Net, 3DV 2016, with the softmax of several classes).
#include <algorithm>
#include <vector>

#include "engine/device/labels.h"
#include "engine/device/reference/softmax.h"
#include "engine/losses/dice/options.h"
#include "engine/losses/row.h"

namespace thalweg::engine::reference {
namespace {

void dice_plan(LossPlan& plan, const jobspec::Options& options) {
  plan.options = DiceOptions{options.real("epsilon")};
}

template <class T>
struct Overlap {
  T both = 0, predicted = 0, labelled = 0;
  T top(T e) const { return 2 * both + e; }
  T bottom(T e) const { return predicted + labelled + e; }
};

/// `s`: room for the softmax at every position, (positions, classes).
template <class T>
T sample_loss(const LossPlan& plan, const LossCall<T>& call, int sample, std::vector<T>& s,
              ShardResult& result) {
  const int classes = plan.data.classes;
  const T e = static_cast<T>(plan.options_as<DiceOptions>().epsilon);
  const std::int64_t at = sample * elements(plan.output);
  const std::int32_t* labels = call.batch->labels + sample * plan.positions;
  for (std::int64_t p = 0; p < plan.positions; ++p)
    softmax(call.outputs + at + p * plan.position_step, classes, plan.class_step,
            s.data() + p * classes);
  std::vector<Overlap<T>> overlaps(static_cast<std::size_t>(classes));
  for (std::int64_t p = 0; p < plan.positions; ++p) {
    if (labels[p] == no_label) continue;
    if (labels[p] < 0 || labels[p] >= classes) refuse_label(labels[p], sample, classes);
    const T* y = s.data() + p * classes;
    for (std::size_t c = 0; c < overlaps.size(); ++c) {
      const bool labelled = static_cast<std::size_t>(labels[p]) == c;
      overlaps[c].predicted += y[c];
      if (labelled) overlaps[c].both += y[c];
      if (labelled) overlaps[c].labelled += 1;
    }
    const std::int64_t best = std::max_element(y, y + classes) - y;
    result.sums[counted_labels] += 1;
    if (best != labels[p]) result.sums[wrong_labels] += 1;
    count_overlap(best, labels[p], result);
  }
  T loss = 1;
  for (const Overlap<T>& o : overlaps)
    loss -= o.top(e) / o.bottom(e) / static_cast<T>(classes);
  if (call.gradient == nullptr) return loss;
  for (std::int64_t p = 0; p < plan.positions; ++p) {
    T* dx = call.gradient + at + p * plan.position_step;
    const T* y = s.data() + p * classes;
    // d loss / d s first, then through the softmax.
    T mean = 0;
    const auto gradient = [&](int c) {
      const Overlap<T>& o = overlaps[static_cast<std::size_t>(c)];
      const T hit = labels[p] == c ? T{2} : T{0};
      return -(hit * o.bottom(e) - o.top(e)) / (o.bottom(e) * o.bottom(e)) /
             static_cast<T>(classes);
    };
    for (int c = 0; c < classes; ++c)
      mean += y[c] * gradient(c);
    for (int c = 0; c < classes; ++c)
      dx[c * plan.class_step] =
          labels[p] == no_label ? T{0} : call.scale * y[c] * (gradient(c) - mean);
  }
  return loss;
}

template <class T>
ShardResult dice_loss(const LossPlan& plan, const LossCall<T>& call) {
  ShardResult result;
  std::vector<T> s(static_cast<std::size_t>(plan.positions * plan.data.classes));
  for (int n = 0; n < call.batch->samples; ++n)
    result.loss_sum += static_cast<double>(sample_loss(plan, call, n, s, result));
  return result;
}

}  // namespace

const Loss dice{dice_loss<float>, dice_loss<double>};

}  // namespace thalweg::engine::reference

namespace thalweg::engine::losses {

LossKind dice() {
  return {.doc = "1 - the Dice coefficient of every class's softmax, averaged: for segmentation",
          .options = {jobspec::float_option("epsilon", 1, 1e-12, 1e6,
                                            "added to both parts of each quotient")},
          .plan = reference::dice_plan,
          .reference = &reference::dice,
          .metrics = {error, accuracy, Metric{"iou", 3, 4}}};
}

}  // namespace thalweg::engine::losses
