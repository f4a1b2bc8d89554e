// What an administrator looks at first: programs, configuration, home, record, run folders, Slurm.
#pragma once

#include "daemon/api/client.h"

namespace thalweg::daemon {

/// Looks, changes nothing, and needs no controller; prints what it finds, as JSON or one below the
/// other. Each program that is asked has ten seconds. `site`: the home is one of thalwegd --site.
/// The exit code: exit_failed where something is an error. Blocks.
int print_check(const api::Home& home, bool site, bool as_json);

}  // namespace thalweg::daemon
