// Takes the looks at seeds of sweeps that have them.
#pragma once

#include "daemon/state/events.h"
#include "daemon/state/state.h"
#include "db/store.h"

namespace thalweg::daemon {

/// Of a sweep whose look is due (due_look(), daemon/state/seed_looks.h): what it finds in the
/// record, and the trials that follow from it. The event's row writer puts these in.
event::SeedLook look_at_seeds(db::Store& store, const SweepState& sweep);

}  // namespace thalweg::daemon
