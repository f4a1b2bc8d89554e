// What goes into a model.
#pragma once

#include <cstdint>

#include "engine/tensor/shape.h"

namespace thalweg::engine {

/// What a sample of the data holds, as a model sees it: labels or targets, never both.
struct InputShape {
  Shape sample;              ///< (features), (c, h, w), (c, d, h, w), of tokens (positions)
  int classes = 0;           ///< labels are 0 .. classes - 1; 0: there are targets instead
  std::int64_t labels = 1;   ///< of a sample: 1, or one for each position; 0 with targets
  std::int64_t targets = 0;  ///< real numbers to predict, of a sample
  int vocabulary = 0;        ///< above 0: inputs are token numbers below it

  /// What a model of one answer a sample puts out: logits or predictions.
  std::int64_t outputs() const { return classes > 0 ? classes : targets; }
};

/// A label that stands for "do not count this position".
inline constexpr std::int32_t no_label = -1;

}  // namespace thalweg::engine
