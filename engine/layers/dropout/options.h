// What the functions of dropout need of its options.
#pragma once

namespace thalweg::engine {

struct DropoutOptions {
  double probability = 0;  ///< share of elements left out
};

}  // namespace thalweg::engine
