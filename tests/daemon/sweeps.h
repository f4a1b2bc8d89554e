// Sweeps without a file, given in to a controller.
#pragma once

#include <optional>
#include <string>

#include "daemon/controller/controller.h"

namespace thalweg::test {

/// A sweep with `trials` trials (by seed) of `steps` steps each.
jobspec::Sweep sweep_of(int trials, int steps = 4);
std::int64_t submit(daemon::Controller& controller, const jobspec::Sweep& sweep,
                    const std::optional<daemon::Owner>& runs_as = {},
                    const std::string& backend = "fake");
/// What `sweep` has beyond the trials that are there.
void extend(daemon::Controller& controller, std::int64_t id, const jobspec::Sweep& sweep);

}  // namespace thalweg::test
