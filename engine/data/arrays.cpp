// arrays: inputs and labels (or targets) out of NPY, NPZ or HDF5 files.
#include <algorithm>
#include <limits>
#include <utility>

#include "engine/data/array.h"
#include "engine/data/table.h"

namespace thalweg::engine::data {
namespace {

std::int64_t per_sample(const Array& array) {
  return array.count() / array.shape[0];
}

class Arrays final : public Dataset {
 public:
  Arrays(SampleForm form, Array inputs, Array answers, double mean, double deviation)
      : Dataset(std::move(form)),
        inputs_(std::move(inputs)),
        answers_(std::move(answers)),
        mean_(mean),
        deviation_(deviation) {
    stored_.bytes = bytes_of(inputs_.type);
    if (stored_.bytes > 2) return;
    // Every pattern that there is, read as the inputs are.
    Array patterns = inputs_;
    std::vector<std::uint8_t> all(stored_.patterns() * stored_.bytes);
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = static_cast<std::uint8_t>(i / stored_.bytes >> (8 * (i % stored_.bytes)));
    patterns.data = all.data();
    stored_.values.resize(stored_.patterns());
    patterns.read(0, static_cast<std::int64_t>(stored_.patterns()), mean, deviation,
                  stored_.values.data());
  }
  std::size_t size() const override { return static_cast<std::size_t>(inputs_.shape[0]); }
  void copy(std::size_t index, float* out) const override {
    const std::int64_t n = per_sample(inputs_);
    inputs_.read(static_cast<std::int64_t>(index) * n, n, mean_, deviation_, out);
  }
  const StoredForm* stored() const override { return stored_.values.empty() ? nullptr : &stored_; }
  const std::uint8_t* stored_sample(std::size_t index) const override {
    return inputs_.data + index * static_cast<std::size_t>(per_sample(inputs_)) * stored_.bytes;
  }
  void copy_labels(std::size_t index, std::int32_t* out) const override {
    const std::int64_t n = per_sample(answers_);
    for (std::int64_t i = 0; i < n; ++i)
      out[i] =
          static_cast<std::int32_t>(answers_.integer(static_cast<std::int64_t>(index) * n + i));
  }
  void copy_targets(std::size_t index, float* out) const override {
    const std::int64_t n = per_sample(answers_);
    answers_.read(static_cast<std::int64_t>(index) * n, n, 0, 1, out);
  }

 private:
  Array inputs_, answers_;
  double mean_, deviation_;
  StoredForm stored_;
};

std::int64_t offset_of(const Array& array, std::int64_t number) {
  if (array.offset < 0) return DataError::kNoOffset;
  return array.offset + number * static_cast<std::int64_t>(bytes_of(array.type));
}

/// The classes of checked labels.
int check_labels(const Array& labels, int classes) {
  if (!is_integer(labels.type))
    throw DataError(labels.name, labels.offset,
                    "labels must be integers; name real numbers to predict in data.targets");
  constexpr std::int64_t kMostClasses = 1 << 24;
  std::int64_t largest = 0;
  for (std::int64_t i = 0; i < labels.count(); ++i) {
    const std::int64_t label = labels.integer(i);
    const std::int64_t end = classes > 0 ? classes : kMostClasses;
    if (label < kNoLabel || label >= end)
      throw DataError(labels.name, offset_of(labels, i),
                      "label " + std::to_string(label) + " of number " + std::to_string(i) +
                          ", expected -1 (does not count) or 0 to " + std::to_string(end - 1));
    largest = std::max(largest, label);
  }
  return classes > 0 ? classes : static_cast<int>(largest) + 1;
}

jobspec::Value get(const jobspec::Value& tree, const char* name) {
  return option(tree, arrays(), name);
}

std::unique_ptr<Dataset> make(const jobspec::Value& tree) {
  const bool labelled = !get(tree, "labels").is_null(), real = !get(tree, "targets").is_null();
  if (get(tree, "inputs").is_null())
    throw std::invalid_argument(
        "data.inputs is missing: an array, FILE.npy or FILE.npz:NAME or FILE.h5:NAME");
  if (labelled == real)
    throw std::invalid_argument(
        labelled ? "both data.labels and data.targets are set; keep one of them"
                 : "data.labels is missing: class numbers; or data.targets: real numbers");
  const auto local = [&](const std::filesystem::path& file) { return local_file(tree, file); };
  Array inputs = read_array(get(tree, "inputs").as_string(), local);
  Array answers = read_array(get(tree, labelled ? "labels" : "targets").as_string(), local);
  if (inputs.shape[0] > std::numeric_limits<std::uint32_t>::max())
    throw DataError(inputs.name, inputs.offset, "more than 2^32 samples are not supported");
  if (answers.shape[0] != inputs.shape[0])
    throw DataError(answers.name, answers.offset,
                    std::to_string(answers.shape[0]) + " rows for " +
                        std::to_string(inputs.shape[0]) + " samples in " + inputs.name);
  SampleForm form;
  form.input.assign(inputs.shape.begin() + 1, inputs.shape.end());
  if (form.input.empty()) form.input = {1};
  const bool sequences = get(tree, "sequences").as_bool();
  if (sequences && form.input.size() != 2)
    throw DataError(inputs.name, inputs.offset,
                    "data.sequences: samples have " + std::to_string(inputs.shape.size() - 1) +
                        " dimensions, expected (positions, features)");
  if (form.input.size() == 2 && !sequences) form.input.insert(form.input.begin(), 1);  // a channel
  if (form.input.size() > 4)
    throw DataError(inputs.name, inputs.offset,
                    "samples have " + std::to_string(form.input.size()) +
                        " dimensions, expected at most (channels, depth, height, width)");
  if (labelled) {
    const jobspec::Value classes = get(tree, "classes");
    form.classes =
        check_labels(answers, classes.is_string() ? 0 : static_cast<int>(classes.as_int()));
    form.labels = per_sample(answers);
  } else {
    form.labels = 0;
    form.targets = per_sample(answers);
  }
  return std::make_unique<Arrays>(std::move(form), std::move(inputs), std::move(answers),
                                  get(tree, "mean").as_double(),
                                  get(tree, "deviation").as_double());
}

}  // namespace

Row arrays() {
  return {
      "arrays",
      "arrays in files: FILE.npy, FILE.npz:NAME or FILE.h5:NAME",
      {needed(text_option("inputs", {},
                          "n x features, n x h x w, n x c x h x w or n x c x d x h x w numbers")),
       text_option("labels", {}, "class numbers: n, or n x positions; -1 does not count"),
       text_option("targets", {}, "instead of labels: n x k real numbers to predict"),
       jobspec::flag_option("sequences", false,
                            "inputs of n x a x b are positions x features (model lstm), not "
                            "images of one channel"),
       mean_option("an input x becomes (x - mean) / deviation"), deviation_option(),
       classes_option(1 << 24)},
      make};
}

}  // namespace thalweg::engine::data
