// The dataset table and what reads it.
#include "engine/data/dataset.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <utility>

#include "engine/data/header.h"
#include "engine/data/inputs_as_targets.h"
#include "engine/data/normalised.h"
#include "engine/data/paths.h"
#include "engine/data/sets.h"
#include "engine/data/split.h"
#include "engine/data/table.h"
#include "jobspec/table.h"

namespace thalweg::engine {
namespace {

std::string where(const std::filesystem::path& file, std::int64_t offset) {
  if (offset == DataError::kNoOffset) return file.string() + ": ";
  return file.string() + ": offset " + std::to_string(offset) + ": ";
}

const jobspec::Table<data::Row>& table() {
  static const jobspec::Table<data::Row> rows(
      "dataset",
      {data::fashion_mnist(), data::cifar10(), data::cifar100(), data::idx_files(), data::arrays(),
       data::tokens(), data::text(), data::synthetic(), data::shapes(), data::gaussian_fields(),
       data::cells(), data::copy_task(), data::translation_task(), data::quadratic_deep()});
  return rows;
}

}  // namespace

DataError::DataError(const std::filesystem::path& file, std::int64_t offset,
                     const std::string& reason)
    : std::runtime_error(where(file, offset) + reason) {}

Dataset::Dataset(SampleForm form) : form_(std::move(form)) {
  if ((form_.classes > 0) == (form_.targets > 0) || (form_.classes > 0) != (form_.labels > 0))
    throw std::logic_error("a sample has either labels or targets");
}

namespace {

template <class T>
void look_up(const std::uint8_t* from, std::size_t n, const float* values, float* out) {
  for (std::size_t i = 0; i < n; ++i) {
    T pattern;
    std::memcpy(&pattern, from + i * sizeof pattern, sizeof pattern);
    out[i] = values[pattern];
  }
}

}  // namespace

void Dataset::copy(std::size_t index, float* out) const {
  const std::uint8_t* const from = stored_sample(index);
  const StoredForm& form = *stored();
  const std::size_t tables = form.tables(), each = input_floats(form_) / tables;
  for (std::size_t t = 0; t < tables; ++t) {
    const auto copy_table = form.bytes == 1 ? look_up<std::uint8_t> : look_up<std::uint16_t>;
    copy_table(from + t * each * form.bytes, each, form.values.data() + t * form.patterns(),
               out + t * each);
  }
}

const std::uint8_t* Dataset::stored_sample(std::size_t) const {
  throw std::logic_error("this dataset's samples are made by copy()");
}

std::string Dataset::describe(std::size_t index, bool) const {
  return "sample " + std::to_string(index) + " (counted from 0)";
}

void Dataset::copy_targets(std::size_t, float*) const {
  throw std::logic_error("this dataset has no targets");
}

std::int32_t Dataset::label(std::size_t index) const {
  if (form_.labels != 1) throw std::logic_error("this dataset has not one label in a sample");
  std::int32_t label = kNoLabel;
  copy_labels(index, &label);
  return label;
}

std::string not_finite_in(const Dataset& dataset, const std::vector<std::uint32_t>& samples) {
  std::vector<float> inputs(input_floats(dataset.form()));
  std::vector<float> targets(static_cast<std::size_t>(dataset.form().targets));
  const auto finite = [](float x) { return std::isfinite(x); };
  for (const std::uint32_t sample : samples) {
    dataset.copy(sample, inputs.data());
    if (!targets.empty()) dataset.copy_targets(sample, targets.data());
    for (const bool of_targets : {false, true}) {
      const std::vector<float>& values = of_targets ? targets : inputs;
      const auto found = std::find_if_not(values.begin(), values.end(), finite);
      if (found == values.end()) continue;
      return std::string("the ") + (of_targets ? "targets" : "inputs") + " hold " +
             (std::isnan(*found) ? "NaN" : "infinity") + ", first in " +
             dataset.describe(sample, of_targets);
    }
  }
  return "";
}

std::size_t input_floats(const SampleForm& form) {
  std::size_t floats = 1;
  for (const std::int64_t n : form.input)
    floats *= static_cast<std::size_t>(n);
  return floats;
}

bool data::has_option(const std::vector<jobspec::Option>& options, std::string_view name) {
  return std::any_of(options.begin(), options.end(),
                     [name](const jobspec::Option& option) { return option.name == name; });
}

data::Options data::read_options(const Row& row, const jobspec::Value& tree) {
  std::vector<jobspec::Option> options = row.options;
  options.push_back(stage_option());
  for (const std::string name : row.set_files)
    options.push_back(path_option("training_" + name, {}, "the training set's (its first file)"));
  return {tree, options, "data."};
}

jobspec::Option data::stage_option() {
  return path_option(
      "stage", {},
      "folder on a disk of the node's own, to which files are copied before they are read");
}

namespace {

/// The same for all, one for each, or found in the training samples.
jobspec::Option for_channels(jobspec::Option option) {
  option.or_auto = true;
  option.doc +=
      "; a list: one number for each channel; auto: each channel's own over the training "
      "samples";
  return jobspec::or_list(std::move(option));
}

}  // namespace

data::Scale data::scale_of(const Options& options) {
  const jobspec::Value &mean = options.value("mean"), &deviation = options.value("deviation");
  if (!mean.is_number() || !deviation.is_number()) return {};
  return {mean.as_double(), deviation.as_double()};
}

jobspec::Option data::mean_option(const char* doc) {
  return for_channels(
      jobspec::float_option("mean", 0.0, -jobspec::no_limit, jobspec::no_limit, doc));
}

jobspec::Option data::deviation_option() {
  return for_channels(jobspec::above_min(
      jobspec::float_option("deviation", 1.0, 0, jobspec::no_limit, "see mean")));
}

jobspec::Option data::classes_option(double most) {
  return jobspec::int_option("classes", "auto", 2, most,
                             "number of classes; auto = the largest label + 1");
}

std::vector<jobspec::Option> data::common_options() {
  return {
      jobspec::int_option("validation", "auto", 1, jobspec::no_limit,
                          "samples held out for validation, the same ones for every seed; auto = "
                          "the data's own, or 1/12"),
      jobspec::int_option("test_samples", 0, 0, jobspec::no_limit,
                          "samples held out beside them and evaluated at the end of the run "
                          "(metrics test/...)"),
      jobspec::above_min(jobspec::float_option(
          "fraction", 1.0, 0, 1, "part of the training and validation samples to use")),
      jobspec::int_option("duplicate", 1, 1, 1e6,
                          "how often every training sample comes in an epoch"),
      jobspec::choice_option("shuffle", {"epoch", "once"},
                             "training samples come in a new order in every epoch, or in one order "
                             "always"),
      data::stage_option(),
      jobspec::int_option("workers", 1, 1, 64,
                          "threads that prefetch batches; the batches are the same"),
      jobspec::int_option("ahead", 3, 1, 1024, "batches to prefetch at most")};
}

namespace {

/// What load_dataset() and read_data_header() have in common; `make` gives each file's dataset.
std::unique_ptr<Dataset> dataset_of(
    const jobspec::Value& data, bool measures,
    const std::function<std::unique_ptr<Dataset>(const data::Row&, const data::Options&)>& make) {
  const jobspec::Value* name = data.find("name");
  if (name == nullptr) throw std::invalid_argument("data.name is missing");
  const data::Row& row = table().at(name->as_string(), "data.name");
  const std::vector<jobspec::Option> options = data::options_of(row);
  const jobspec::Value tree =
      data::with_whole_paths(data::with_whole_paths(data, options), data::common_options());
  std::unique_ptr<Dataset> dataset =
      data::load_sets(row, tree, [&](const data::Options& one) { return make(row, one); });
  if (!dataset) return nullptr;
  if (data::has_option(row.options, "deviation"))
    dataset =
        data::normalised(std::move(dataset), data::Options(tree, options, "data."), tree, measures);
  const jobspec::Value* const targets = tree.find("targets");
  if (targets != nullptr && *targets == jobspec::Value(data::kInputs))
    dataset = data::inputs_as_targets(std::move(dataset));
  return dataset;
}

}  // namespace

std::unique_ptr<Dataset> load_dataset(const jobspec::Value& data) {
  return dataset_of(data, true, [](const data::Row& row, const data::Options& options) {
    return row.maker(options, nullptr);
  });
}

DataHeader read_data_header(const jobspec::Value& data) {
  DataHeader header;
  header.dataset = dataset_of(data, false, [&](const data::Row& row, const data::Options& options) {
    return row.maker(options, &header.facts);
  });
  return header;
}

std::vector<jobspec::Section> data_schema() {
  jobspec::Section section;
  section.path = "data";
  section.doc = "What to train on";
  section.options = data::common_options();
  for (const data::Row& row : table())
    section.variants.push_back({row.name, row.doc, data::options_of(row)});
  return {std::move(section), split_section()};
}

}  // namespace thalweg::engine
