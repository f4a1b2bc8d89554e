// What the device of a model cannot do, and why.
#pragma once

#include "engine/sync/mode.h"
#include "engine/sync/options.h"

namespace thalweg::engine {

/// Throws std::invalid_argument: the option, why it cannot be, and what to write instead.
void require_device(const SyncConfig& config, const SyncFacts& facts);

}  // namespace thalweg::engine
