// The rows of the dataset table: one function each, one file each.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "engine/data/dataset.h"
#include "jobspec/option.h"
#include "jobspec/options.h"

namespace thalweg::engine::data {

using jobspec::Options;

struct HeaderFacts;

struct Row {
  const char* name;
  const char* doc;
  std::vector<jobspec::Option> options;
  /// Where `header` is not null, contents are not read (header.h); the result may then be null,
  /// where not even the size can be told.
  std::unique_ptr<Dataset> (*maker)(const Options& options, HeaderFacts* header);
  /// Options that name its files: several files are one set, and validation_NAME and test_NAME name
  /// sets of their own (sets.h). The maker is given one of each.
  std::vector<const char*> set_files{};
};

Row fashion_mnist();
Row cifar10();
Row cifar100();
Row idx_files();
Row arrays();
Row tokens();
Row text();
Row synthetic();
Row shapes();
Row gaussian_fields();
Row cells();
Row copy_task();
Row translation_task();
Row quadratic_deep();

using jobspec::choice_option;
using jobspec::flag_option;
using jobspec::float_option;
using jobspec::int_option;
using jobspec::list_option;
using jobspec::or_list;
using jobspec::path_option;
using jobspec::required;
using jobspec::string_option;

// Of rows that read numbers from files.
jobspec::Option mean_option(const char* doc);
jobspec::Option deviation_option();
jobspec::Option classes_option(double most);

/// What a maker makes of an input x: (x - mean) / deviation.
struct Scale {
  double mean = 0, deviation = 1;
};
/// Of data.mean and data.deviation where both are numbers; else none: then normalised() does it.
Scale scale_of(const Options& options);

/// data.targets, where the inputs themselves are to be predicted.
inline constexpr const char* kInputs = "inputs";

bool has_option(const std::vector<jobspec::Option>& options, std::string_view name);

/// The file to read instead of `file`: its copy in the folder data.stage, made if need be (by one
/// process at a time; a copy of the same size and time is taken as it is), or itself where
/// data.stage is not set or there is no such file. Throws DataError.
std::filesystem::path local_file(const Options& options, const std::filesystem::path& file);

/// What makers read of the `train.data` tree: the row's options, data.stage, and of a validation or
/// test set the training set's own files as training_NAME.
Options read_options(const Row& row, const jobspec::Value& tree);
/// Of every dataset.
std::vector<jobspec::Option> common_options();
/// data.stage, one of them.
jobspec::Option stage_option();

}  // namespace thalweg::engine::data
