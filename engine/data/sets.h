// Validation and test sets of their own beside the training samples.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "engine/data/dataset.h"
#include "engine/data/table.h"

namespace thalweg::engine::data {

/// The first `kept` samples of `training`, then all of `validation` and of `test` (either may be
/// null), as one dataset that knows which are which. Throws std::invalid_argument where their
/// samples are not of one form (but for the number of classes, which is the largest).
std::unique_ptr<Dataset> join_sets(std::unique_ptr<Dataset> training, std::size_t kept,
                                   std::unique_ptr<Dataset> validation,
                                   std::unique_ptr<Dataset> test);

/// All samples of `parts` (at least one), in their order, as one dataset; `names` are their files.
/// Throws DataError with the file whose samples are not of the first one's form (but for the number
/// of classes).
std::unique_ptr<Dataset> concatenated(std::vector<std::unique_ptr<Dataset>> parts,
                                      const std::vector<std::string>& names);

/// The options `test` and `test_set` of datasets that are published with test images.
jobspec::Option test_option(const char* doc);
jobspec::Option test_set_option();
/// `training`, with the test images as validation samples (`test`; then only the first `kept`
/// others train) or as test samples (`test_set`), or alone; `load` reads them.
std::unique_ptr<Dataset> with_test_images(const Options& options, std::unique_ptr<Dataset> training,
                                          std::size_t kept,
                                          const std::function<std::unique_ptr<Dataset>()>& load);

/// The row's options, validation_NAME and test_NAME for each of its `set_files`, and targets.
std::vector<jobspec::Option> options_of(const Row& row);

/// Of one file of each option: the row's maker, or its header.
using Make = std::function<std::unique_ptr<Dataset>(const Options& options)>;

/// Makes what the tree asks for: the row's dataset of each file that it names (files.h), joined
/// with those of validation_NAME and test_NAME. Makers find the first file of the training set at
/// training_NAME. Throws as they do, and std::invalid_argument where options of one set name
/// different numbers of files. Null where `make` gives null.
std::unique_ptr<Dataset> load_sets(const Row& row, const jobspec::Value& tree, const Make& make);

}  // namespace thalweg::engine::data
