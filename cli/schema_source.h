// Where `validate` learns what `train:` may contain, and what config.yaml says about sweeps.
#pragma once

#include "cli/context.h"
#include "jobspec/fwd.h"

namespace thalweg::cli {

/// Asks `thalweg-train --schema`, beside this program or else in PATH; where there is none, a
/// controller that already runs. Throws CommandError where neither can be had.
jobspec::Schema find_schema(Context& context);

/// Asks `thalwegd --limits`, beside this program or else in PATH; the defaults where there is none.
/// Throws CommandError (bad input) where config.yaml has mistakes.
jobspec::SiteLimits find_limits();

}  // namespace thalweg::cli
