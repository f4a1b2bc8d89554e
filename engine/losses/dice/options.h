// What the functions of dice need of its options.
#pragma once

namespace thalweg::engine {

struct DiceOptions {
  double epsilon = 1;  ///< added to both parts of each quotient
};

}  // namespace thalweg::engine
