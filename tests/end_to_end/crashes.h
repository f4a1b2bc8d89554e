// Kills the controller at named points of its work, again and again, over sweeps that go on
// meanwhile.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/end_to_end/sweep_home.h"

namespace thalweg::test {

/// The points of an attempt's life, each once or at a later passing: "after_submit:2".
const std::vector<std::string>& crash_points();

/// Submits one sweep (long enough to pass every point), arms one point after the other, waits until
/// the controller has died there and starts it with the next one. At the end every trial must be
/// finished, nothing lost or doubled. `between` is called after each death (e.g. to kill something
/// else too), `meanwhile` about every second of waiting.
void crash_through(SweepHome& home, const TinySweep& sweep, const std::string& backend,
                   const std::function<void(std::size_t death)>& between = {},
                   const std::function<void()>& meanwhile = {});

}  // namespace thalweg::test
