// What losses of labels share: which label stands where, how much it weighs, what is counted.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "engine/device/batch.h"
#include "engine/device/layer.h"

namespace thalweg::engine {

/// The sums that losses of labels count.
enum LabelSum : std::size_t {
  wrong_labels,
  counted_labels,
  not_among_five,
  intersection,  ///< of segments: see count_overlap
  union_size,
  position_loss  ///< of labels that count, each as much as any other
};

struct LabelAt {
  std::int64_t logits;  ///< where the first class's logit stands, from the shard's first
  std::int32_t label;
  double share;              ///< of a position that counts in its sample's loss: 1 / their number
  std::int32_t label_b = 0;  ///< another label of a blended sample
  double share_b = 0;        ///< of the label that belongs to it

  bool counts() const { return label != no_label; }
};

/// The loss becomes (1 - s) loss(label) + s loss(label_b).
inline void blend_label(const LossPlan& plan, const Batch& batch, int sample, std::int64_t position,
                        LabelAt& at) {
  at.label_b = batch.labels_b[sample * plan.positions + position];
  if (at.label_b < 0 || at.label_b >= plan.data.classes)
    refuse_label(at.label_b, sample, plan.data.classes);
  at.share_b = static_cast<double>(batch.shares_b[sample]);
}

/// Visits every position of every sample. Throws std::invalid_argument where a label is no class.
template <class Visit>
void for_each_label(const LossPlan& plan, const Batch& batch, Visit visit) {
  const std::int32_t* labels = batch.labels;
  std::int64_t sample_at = 0;
  for (int n = 0; n < batch.samples; ++n, labels += plan.positions) {
    const auto counted = plan.positions - std::count(labels, labels + plan.positions, no_label);
    for (std::int64_t p = 0; p < plan.positions; ++p) {
      LabelAt at{sample_at + p * plan.position_step, labels[p], 1.0 / static_cast<double>(counted)};
      // Without other positions a sample's only label cannot be left out.
      const bool known = at.label >= 0 && at.label < plan.data.classes;
      if (!known && (at.counts() || plan.positions == 1))
        refuse_label(at.label, n, plan.data.classes);
      // Only samples of one position are blended.
      if (known && batch.labels_b != nullptr) blend_label(plan, batch, n, p, at);
      visit(at);
    }
    sample_at += elements(plan.output);
  }
}

/// For the metric iou: the first class is the background, which it leaves out.
inline void count_overlap(std::int64_t predicted, std::int32_t label, ShardResult& result) {
  if (predicted == 0 && label == 0) return;
  result.sums[union_size] += 1;
  if (predicted == label) result.sums[intersection] += 1;
}

/// Counts a position for the metrics error and top5_error, and of images iou. `best`: the class of
/// the largest logit, or no_label where logits are NaN.
template <class Logit>
void count_label(const LossPlan& plan, const LabelAt& at, Logit logit, std::int64_t best,
                 ShardResult& result) {
  result.sums[counted_labels] += 1;
  if (plan.of_images()) count_overlap(best, at.label, result);
  if (best == at.label) return;
  result.sums[wrong_labels] += 1;
  int above = 0;
  for (int c = 0; c < plan.data.classes && above < 5; ++c)
    above += logit(c) > logit(at.label) ? 1 : 0;
  if (best == no_label || above >= 5) result.sums[not_among_five] += 1;
}

}  // namespace thalweg::engine
