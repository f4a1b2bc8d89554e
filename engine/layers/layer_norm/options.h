// What the functions of layer_norm need of its options.
#pragma once

namespace thalweg::engine {

struct LayerNormOptions {
  double epsilon = 1e-5;  ///< added to the variance
};

}  // namespace thalweg::engine
