// The times of one step, and how much of its communication was hidden behind backward.
#pragma once

#include <chrono>
#include <span>

#include "engine/threads/threads.h"

namespace thalweg::engine {

/// Runs from its construction.
class Stopwatch {
 public:
  double ms() const {
    return std::chrono::duration<double, std::milli>(threads::now() - start_).count();
  }

 private:
  threads::Time start_ = threads::now();
};

/// When one part's sum was under way on this rank; ms since the step began there.
struct PartTime {
  double start = 0;
  double end = 0;

  double duration() const { return end - start; }
};

/// ms of one step on this rank.
struct CommTimes {
  double comm_ms = 0;     ///< some sum was under way that every rank had joined
  double exposed_ms = 0;  ///< the part of it that this rank waited for after backward
  double skew_ms = 0;     ///< waited after backward for slower ranks, not for messages

  /// Share of the communication hidden behind backward (and the update of other buckets), 0 ... 1.
  double overlap() const { return comm_ms > 0 ? 1 - exposed_ms / comm_ms : 0; }
};

/// A sum cannot get on before the last rank has started it, so the rank that started last, and only
/// that one, saw the communication alone: its duration is the shortest of all ranks' (`shortest`,
/// one for each part). On the others what goes before that range is waiting for a slower rank.
/// No clocks are compared between ranks. `compute_end`: when this rank's backward ended; `waited`:
/// how long it then waited for sums.
CommTimes split_times(std::span<const PartTime> parts, std::span<const double> shortest,
                      double compute_end, double waited);

}  // namespace thalweg::engine
