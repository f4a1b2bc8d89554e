// targets: inputs, for autoencoders.
#pragma once

#include <memory>

#include "engine/data/dataset.h"

namespace thalweg::engine::data {

/// The same samples, to predict their own inputs as copy() writes them (normalised). Throws
/// std::invalid_argument where they are tokens.
std::unique_ptr<Dataset> inputs_as_targets(std::unique_ptr<Dataset> dataset);

/// data.targets of rows that have none of their own.
jobspec::Option targets_option();

}  // namespace thalweg::engine::data
