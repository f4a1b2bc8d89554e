// data.mean and data.deviation where they are not one number each.
#pragma once

#include <memory>

#include "engine/data/dataset.h"
#include "engine/data/table.h"

namespace thalweg::engine::data {

/// The dataset, which scale_of() left as it is, with (x - mean) / deviation for every input x of
/// each channel (where there are positions x features: of each feature), of training, validation
/// and test samples alike; itself where both are numbers. "auto" is found over those samples that
/// split_samples() of `tree` trains on, in double and one order, so that every rank and attempt
/// finds the same bits; facts() says the numbers. A channel that is constant is divided by 1.
/// Without `measures` nothing is read: as if every channel had mean 0 and deviation 1.
/// Throws std::invalid_argument where a list is not as long as there are channels, DataError where
/// numbers are not finite.
std::unique_ptr<Dataset> normalised(std::unique_ptr<Dataset> dataset, const Options& options,
                                    const jobspec::Value& tree, bool measures = true);

}  // namespace thalweg::engine::data
