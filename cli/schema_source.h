// Where `validate` learns what `train:` may contain.
#pragma once

#include "cli/context.h"
#include "jobspec/schema.h"

namespace thalweg::cli {

/// Asks `thalweg-train --schema`, beside this program or else in PATH; where there is none, a
/// controller that already runs. Throws CommandError where neither can be had.
jobspec::Schema find_schema(Context& context);

}  // namespace thalweg::cli
