// What the functions of batch_norm need of its options.
#pragma once

namespace thalweg::engine {

struct BatchNormOptions {
  double epsilon = 1e-5;  ///< added to the variance
};

}  // namespace thalweg::engine
