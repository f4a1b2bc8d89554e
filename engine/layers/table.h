// The layers that graphs are made of, one row each.
#pragma once

#include "engine/device/layer.h"
#include "jobspec/table.h"

namespace thalweg::engine {

/// Thread-safe.
const jobspec::Table<LayerKind>& layer_table();

}  // namespace thalweg::engine
