// How long forward and backward take where the clock is not the machine's.
#pragma once

#include <vector>

namespace thalweg::engine {

/// Of a rank that nothing slows (Emulation). The pass itself is computed at once.
struct PassTime {
  double seconds_per_sample = 0;
  /// By parameter: the share of a pass after which its gradient is complete.
  std::vector<double> complete;
};

}  // namespace thalweg::engine
