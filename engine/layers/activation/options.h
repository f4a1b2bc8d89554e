// What the functions of activation need of its options.
#pragma once

namespace thalweg::engine {

struct LeakyReluOptions {
  double slope = 0;  ///< below 0
};

struct TanhOptions {
  double scale = 1;
};

}  // namespace thalweg::engine
