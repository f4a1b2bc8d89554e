// The losses that training makes small, one row each; of those for labels, and of those for
// targets, the first is the default.
#pragma once

#include "engine/device/layer.h"
#include "jobspec/table.h"

namespace thalweg::engine {

/// Thread-safe.
const jobspec::Table<LossKind>& loss_table();

}  // namespace thalweg::engine
