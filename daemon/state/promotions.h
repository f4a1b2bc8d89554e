// Which paused trial goes on, by the values that those at its rung have. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/state/state.h"

namespace thalweg::daemon {

struct NextPromotion {
  std::int64_t trial = 0;
  std::string reason;
};

/// Of a sweep whose method promotes. `asha`: a trial among the best 1/reduction_factor of all that
/// have come to its rung, the highest rung first, and one at a time: none while one that was
/// promoted waits for its start. `successive_halving`: when nothing is on its way to a rung any
/// more, its best 1/reduction_factor, at least one. At the end of a sweep of asha the best of the
/// highest rung that promoted none goes on, too: some trial is always trained to its end. Trials
/// with equal values come by number; what has no finite value comes last and never goes on.
std::optional<NextPromotion> next_promotion(const SweepState& sweep);

/// Whether only trials are left that have paused and that nothing can promote any more, given that
/// next_promotion() is nothing.
bool only_paused_left(const SweepState& sweep);

/// "val/error 0.31 after 3 epochs".
std::string at_rung(const SweepState& sweep, std::int64_t trial);

}  // namespace thalweg::daemon
