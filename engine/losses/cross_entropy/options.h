// What the functions of cross_entropy need of its options.
#pragma once

namespace thalweg::engine {

struct CrossEntropyOptions {
  double smoothing = 0;  ///< share of the label spread over all classes
};

}  // namespace thalweg::engine
