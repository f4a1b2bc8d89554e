// Sweeps with a method that learns: the configurations that are chosen by results.
#pragma once

#include "daemon/server/app.h"

namespace thalweg::daemon {

/// Goes on, on the controller's thread, as long as its executor runs.
void choose_by_results(App& app);

}  // namespace thalweg::daemon
