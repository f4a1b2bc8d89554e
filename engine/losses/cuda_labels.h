// What losses of labels share on a GPU: the labels, given or drawn, and what a position weighs.
// Logits are rows of the classes, contiguous, one row a position: images lie channels last.
#pragma once

#include "engine/device/labels.h"
#include "engine/losses/cuda.h"

namespace thalweg::engine::cuda {

struct LabelTensors {
  TensorId drawn = -1;   ///< what takes the labels' place where Batch::draw_labels says so
  TensorId shares = -1;  ///< of each sample: 1 / the number of its positions that count; -1: all 1
};

/// Adds the work that comes before the loss itself, for both passes; shares where there are several
/// positions and `weigh`.
LabelTensors add_labels(Builder& b, TensorId output, bool weigh);

inline const std::int32_t* labels_of(const Frame& frame, const LabelTensors& tensors,
                                     TensorId given, bool training) {
  return frame.as<std::int32_t>(training && frame.draw_labels ? tensors.drawn : given);
}

/// Adds to a thread's LossSums what a position counts for metrics, as engine/device/labels.h does.
/// `best`: the class of the largest logit, no_label where logits are NaN; `above`: how many logits
/// are larger than the label's.
THALWEG_HOST_DEVICE inline void count_label(int best, int label, int above, bool images,
                                            double* mine) {
  mine[1 + counted_labels] += 1;
  if (images && (best != 0 || label != 0)) {
    mine[1 + union_size] += 1;
    if (best == label) mine[1 + intersection] += 1;
  }
  if (best == label) return;
  mine[1 + wrong_labels] += 1;
  if (best == no_label || above >= 5) mine[1 + not_among_five] += 1;
}

}  // namespace thalweg::engine::cuda
