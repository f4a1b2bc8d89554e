// Measures the algorithms on the ranks at hand, and takes the fastest of every length.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "engine/comm/algorithms/collective.h"
#include "engine/comm/group.h"

namespace thalweg::engine::comm {

struct AutotuneOptions {
  std::vector<Collective> collectives = {Collective::allreduce};
  std::size_t longest = 16 << 20;          ///< bytes of the longest vector measured
  std::chrono::milliseconds budget{2000};  ///< lengths that it does not reach stay on "auto"
};

/// Of the slowest rank, so the same on all; the median of some calls.
struct Timing {
  Collective collective;
  std::size_t bytes;  ///< of the whole vector
  const char* algorithm;
  double microseconds;
};

struct Tuned {
  Collective collective;
  std::string choice;  ///< as Choice::parse reads it (algorithms/choice.h)
};

struct Autotuned {
  std::vector<Tuned> choices;
  std::vector<Timing> timings;  ///< everything measured, in that order
  /// "allreduce recursive_doubling:0-16K,ring:16K-\n64 bytes: ring 12.3 us, ...\n..."
  std::string text() const;
};

/// Collective: measures vectors of f32 in the group's memory, 64 bytes to `longest`, by every
/// algorithm that the group's ranks can do, and uses the fastest from now on; what "auto" takes
/// unless another is faster by a tenth. All ranks decide by the same numbers. Throws CommError.
Autotuned autotune(Group& group, const AutotuneOptions& options = {});

}  // namespace thalweg::engine::comm
