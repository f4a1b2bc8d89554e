// What the functions of rms_norm need of its options.
#pragma once

namespace thalweg::engine {

struct RmsNormOptions {
  double epsilon = 1e-5;  ///< added to the mean square
};

}  // namespace thalweg::engine
