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

/// Images as most programs keep them would be taken for as many channels as they have rows.
std::vector<std::string> channels_last(const Array& inputs) {
  constexpr std::int64_t kMostColours = 4, kLeastRows = 8;
  const auto& shape = inputs.shape;
  if (shape.size() != 4 && shape.size() != 5) return {};
  const auto rows = std::min_element(shape.begin() + 1, shape.end() - 1);
  if (shape.back() > kMostColours || *rows < kLeastRows) return {};
  std::string found, fits = "0, " + std::to_string(shape.size() - 1);
  for (std::size_t i = 1; i < shape.size(); ++i) {
    found += " x " + std::to_string(shape[i]);
    if (i + 1 < shape.size()) fits += ", " + std::to_string(i);
  }
  return {inputs.name + ": n" + found + " is taken as " + std::to_string(shape[1]) +
          " channels; if the channels stand last, store numpy.transpose(x, (" + fits + "))"};
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
  std::string describe(std::size_t index, bool targets) const override {
    return "row " + std::to_string(index) + " of " + (targets ? answers_ : inputs_).name;
  }
  std::vector<std::string> notes() const override { return channels_last(inputs_); }
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

/// "row 12, number 3 (counted from 0)": of an array's number.
std::string row_of(const Array& array, std::int64_t number) {
  const std::int64_t each = per_sample(array);
  return "row " + std::to_string(number / each) +
         (each == 1 ? "" : ", number " + std::to_string(number % each)) + " (counted from 0)";
}

/// The classes of checked labels.
int check_labels(const Array& labels, int classes) {
  if (!is_integer(labels.type))
    throw DataError(labels.name, DataError::kNoOffset,
                    "labels must be integers; name real numbers to predict in data.targets");
  constexpr std::int64_t kMostClasses = 1 << 24;
  std::int64_t largest = 0;
  for (std::int64_t i = 0; i < labels.count(); ++i) {
    const std::int64_t label = labels.integer(i);
    const std::int64_t end = classes > 0 ? classes : kMostClasses;
    if (label < kNoLabel || label >= end)
      throw DataError(labels.name, DataError::kNoOffset,
                      "label " + std::to_string(label) + " in " + row_of(labels, i) +
                          ", expected -1 (does not count) or 0 to " + std::to_string(end - 1));
    largest = std::max(largest, label);
  }
  return classes > 0 ? classes : static_cast<int>(largest) + 1;
}

std::unique_ptr<Dataset> make(const Options& options) {
  const std::string& where = options.text("inputs");
  const bool labelled = options.has("labels"), real = options.has("targets");
  if (labelled == real)
    throw std::invalid_argument(
        labelled ? "both data.labels and data.targets are set; keep one of them"
                 : "data.labels is missing: class numbers; or data.targets: real numbers");
  const auto local = [&](const std::filesystem::path& file) { return local_file(options, file); };
  Array inputs = read_array(where, local);
  Array answers = read_array(options.text(labelled ? "labels" : "targets"), local);
  if (inputs.shape[0] > std::numeric_limits<std::uint32_t>::max())
    throw DataError(inputs.name, DataError::kNoOffset, "more than 2^32 samples are not supported");
  if (answers.shape[0] != inputs.shape[0])
    throw DataError(answers.name, DataError::kNoOffset,
                    std::to_string(answers.shape[0]) + " rows for " +
                        std::to_string(inputs.shape[0]) + " samples in " + inputs.name);
  SampleForm form;
  form.input.assign(inputs.shape.begin() + 1, inputs.shape.end());
  if (form.input.empty()) form.input = {1};
  const bool sequences = options.flag("sequences");
  if (sequences && form.input.size() != 2)
    throw DataError(inputs.name, DataError::kNoOffset,
                    "data.sequences: samples have " + std::to_string(inputs.shape.size() - 1) +
                        " dimensions, expected (positions, features)");
  if (form.input.size() == 2 && !sequences) form.input.insert(form.input.begin(), 1);  // a channel
  if (form.input.size() > 4)
    throw DataError(inputs.name, DataError::kNoOffset,
                    "samples have " + std::to_string(form.input.size()) +
                        " dimensions, expected at most (channels, depth, height, width)");
  if (labelled) {
    form.classes = check_labels(answers, static_cast<int>(options.integer_or("classes", 0)));
    form.labels = per_sample(answers);
  } else {
    form.labels = 0;
    form.targets = per_sample(answers);
  }
  form.answers.assign(answers.shape.begin() + 1, answers.shape.end());
  return std::make_unique<Arrays>(std::move(form), std::move(inputs), std::move(answers),
                                  options.real("mean"), options.real("deviation"));
}

}  // namespace

Row arrays() {
  return {
      "arrays",
      "arrays in files: FILE.npy, FILE.npz:NAME or FILE.h5:NAME",
      {required(path_option("inputs", {},
                            "n x features, n x h x w, n x c x h x w or n x c x d x h x w numbers")),
       path_option("labels", {}, "class numbers: n, or n x positions; -1 does not count"),
       path_option("targets", {}, "instead of labels: n x k real numbers to predict"),
       jobspec::flag_option("sequences", false,
                            "inputs of n x a x b are positions x features (model lstm), not "
                            "images of one channel"),
       mean_option("an input x becomes (x - mean) / deviation"), deviation_option(),
       classes_option(1 << 24)},
      make,
      {"inputs", "labels", "targets"}};
}

}  // namespace thalweg::engine::data
