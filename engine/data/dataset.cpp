// The dataset table and what reads it.
#include "engine/data/dataset.h"

#include <utility>

#include "engine/data/table.h"

namespace thalweg::engine {
namespace {

std::string where(const std::filesystem::path& file, std::int64_t offset) {
  if (offset == DataError::kNoOffset) return file.string() + ": ";
  return file.string() + ": offset " + std::to_string(offset) + ": ";
}

const std::vector<data::Row>& table() {
  static const std::vector<data::Row> rows{
      data::fashion_mnist(), data::cifar10(),         data::cifar100(),  data::idx_files(),
      data::arrays(),        data::tokens(),          data::text(),      data::synthetic(),
      data::shapes(),        data::gaussian_fields(), data::copy_task(), data::translation_task(),
      data::quadratic_deep()};
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

void Dataset::copy_targets(std::size_t, float*) const {
  throw std::logic_error("this dataset has no targets");
}

std::int32_t Dataset::label(std::size_t index) const {
  if (form_.labels != 1) throw std::logic_error("this dataset has not one label in a sample");
  std::int32_t label = kNoLabel;
  copy_labels(index, &label);
  return label;
}

std::size_t input_floats(const SampleForm& form) {
  std::size_t floats = 1;
  for (const std::int64_t n : form.input)
    floats *= static_cast<std::size_t>(n);
  return floats;
}

jobspec::Value data::option(const jobspec::Value& tree, const Row& row, const char* name) {
  if (const jobspec::Value* given = tree.find(name)) return *given;
  for (const jobspec::Option& o : row.options)
    if (o.name == name) return o.fallback;
  throw std::logic_error(std::string("dataset ") + row.name + " has no option " + name);
}

jobspec::Option data::integer_option(const char* name, const char* doc, std::int64_t fallback,
                                     double min, double max) {
  jobspec::Option o = real_option(name, doc, 0, min, max);
  o.type = jobspec::OptionType::integer;
  o.fallback = fallback;
  return o;
}

jobspec::Option data::real_option(const char* name, const char* doc, double fallback, double min,
                                  double max) {
  jobspec::Option o;
  o.name = name;
  o.type = jobspec::OptionType::real;
  o.doc = doc;
  o.fallback = fallback;
  o.min = min;
  o.max = max;
  return o;
}

std::unique_ptr<Dataset> load_dataset(const jobspec::Value& data) {
  const jobspec::Value* name = data.find("name");
  if (name == nullptr) throw std::invalid_argument("data.name is missing");
  std::vector<std::string> names;
  for (const data::Row& row : table()) {
    if (name->as_string() == row.name) return row.maker(data);
    names.emplace_back(row.name);
  }
  const std::string near = jobspec::nearest(name->as_string(), names);
  throw std::invalid_argument("data.name: no dataset \"" + name->as_string() + "\"" +
                              (near.empty() ? "" : " (did you mean " + near + "?)"));
}

std::vector<jobspec::Section> data_schema() {
  jobspec::Section section;
  section.path = "data";
  section.doc = "What to train on";
  jobspec::Option validation;
  validation.name = "validation";
  validation.type = jobspec::OptionType::integer;
  validation.doc =
      "samples held out for validation, the same ones for every seed; auto = the data's own, or "
      "1/12";
  validation.fallback = "auto";
  validation.or_auto = true;
  validation.min = 1;
  jobspec::Option fraction;
  fraction.name = "fraction";
  fraction.type = jobspec::OptionType::real;
  fraction.doc = "part of the training and validation samples to use";
  fraction.fallback = 1.0;
  fraction.min = 0;
  fraction.above_min = true;
  fraction.max = 1;
  jobspec::Option duplicate;
  duplicate.name = "duplicate";
  duplicate.type = jobspec::OptionType::integer;
  duplicate.doc = "how often every training sample comes in an epoch";
  duplicate.fallback = 1;
  duplicate.min = 1;
  duplicate.max = 1e6;
  jobspec::Option shuffle;
  shuffle.name = "shuffle";
  shuffle.type = jobspec::OptionType::text;
  shuffle.doc = "training samples come in a new order in every epoch, or in one order always";
  shuffle.fallback = "epoch";
  shuffle.choices = {"epoch", "once"};
  jobspec::Option stage;
  stage.name = "stage";
  stage.type = jobspec::OptionType::text;
  stage.doc = "folder on a disk of the node's own, to which files are copied before they are read";
  section.options = {
      std::move(validation),
      std::move(fraction),
      std::move(duplicate),
      std::move(shuffle),
      std::move(stage),
      data::integer_option(
          "workers", "threads that prepare batches ahead; the batches are the same", 1, 1, 64),
      data::integer_option("ahead", "batches prepared ahead at most", 3, 1, 1024)};
  for (const data::Row& row : table())
    section.variants.push_back({row.name, row.doc, row.options});
  return {std::move(section)};
}

}  // namespace thalweg::engine
