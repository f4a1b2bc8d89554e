// arrays: inputs and labels (or targets) out of NPY, NPZ or HDF5 files.
#include <algorithm>
#include <limits>
#include <utility>

#include "engine/data/array.h"
#include "engine/data/header.h"
#include "engine/data/table.h"

namespace thalweg::engine::data {
namespace {

std::int64_t per_sample(const Array& array) {
  return array.count() / array.shape[0];
}

/// Images as most programs keep them would be taken for as many channels as they have rows.
std::vector<std::string> channels_last(const Array& inputs) {
  constexpr std::int64_t kMaxColours = 4, kMinRows = 8;
  const auto& shape = inputs.shape;
  if (shape.size() != 4 && shape.size() != 5) return {};
  const auto rows = std::min_element(shape.begin() + 1, shape.end() - 1);
  if (shape.back() > kMaxColours || *rows < kMinRows) return {};
  std::string found, fits = "0, " + std::to_string(shape.size() - 1);
  for (std::size_t i = 1; i < shape.size(); ++i) {
    found += " x " + std::to_string(shape[i]);
    if (i + 1 < shape.size()) fits += ", " + std::to_string(i);
  }
  return {inputs.name + ": n" + found + " is taken as " + std::to_string(shape[1]) +
          " channels; if the channels are last, store numpy.transpose(x, (" + fits + "))"};
}

/// Every bit pattern that there is, read as the inputs are. Files of one dataset share theirs.
std::shared_ptr<const StoredForm> patterns_of(Array inputs, const Scale& scale) {
  struct Made {
    NumberType type;
    Scale scale;
    std::weak_ptr<const StoredForm> form;
  };
  thread_local Made last{};
  if (bytes_of(inputs.type) > 2) return nullptr;
  if (last.type == inputs.type && last.scale.mean == scale.mean &&
      last.scale.deviation == scale.deviation)
    if (auto known = last.form.lock()) return known;
  StoredForm form;
  form.bytes = bytes_of(inputs.type);
  std::vector<std::uint8_t> all(form.patterns() * form.bytes);
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<std::uint8_t>(i / form.bytes >> (8 * (i % form.bytes)));
  inputs.data = all.data();
  form.values.resize(form.patterns());
  inputs.read(0, static_cast<std::int64_t>(form.patterns()), scale.mean, scale.deviation,
              form.values.data());
  const auto made = std::make_shared<const StoredForm>(std::move(form));
  last = {inputs.type, scale, made};
  return made;
}

class Arrays final : public Dataset {
 public:
  Arrays(SampleForm form, Array inputs, Array answers, const Scale& scale)
      : Dataset(std::move(form)),
        inputs_(std::move(inputs)),
        answers_(std::move(answers)),
        scale_(scale),
        stored_(patterns_of(inputs_, scale)) {}
  std::size_t size() const override { return static_cast<std::size_t>(inputs_.shape[0]); }
  std::string describe(std::size_t index, bool targets) const override {
    return "row " + std::to_string(index) + " of " + (targets ? answers_ : inputs_).name;
  }
  std::vector<std::string> notes() const override { return channels_last(inputs_); }
  void copy(std::size_t index, float* out) const override {
    const std::int64_t n = per_sample(inputs_);
    inputs_.read(static_cast<std::int64_t>(index) * n, n, scale_.mean, scale_.deviation, out);
  }
  const StoredForm* stored() const override { return stored_.get(); }
  const std::uint8_t* stored_sample(std::size_t index) const override {
    return inputs_.data + index * static_cast<std::size_t>(per_sample(inputs_)) * stored_->bytes;
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
  Scale scale_;
  std::shared_ptr<const StoredForm> stored_;  ///< null: wider numbers
};

/// "row 12, number 3 (counted from 0)": of an array's number.
std::string row_of(const Array& array, std::int64_t number) {
  const std::int64_t each = per_sample(array);
  return "row " + std::to_string(number / each) +
         (each == 1 ? "" : ", number " + std::to_string(number % each)) + " (counted from 0)";
}

void require_integers(const Array& labels) {
  if (!is_integer(labels.type))
    throw DataError(labels.name, DataError::kNoOffset,
                    "labels must be integers; name real numbers to predict in data.targets");
}

/// The classes of checked labels.
int check_labels(const Array& labels, int classes) {
  require_integers(labels);
  constexpr std::int64_t kMaxClasses = 1 << 24;
  std::int64_t largest = 0;
  for (std::int64_t i = 0; i < labels.count(); ++i) {
    const std::int64_t label = labels.integer(i);
    const std::int64_t end = classes > 0 ? classes : kMaxClasses;
    if (label < kNoLabel || label >= end)
      throw DataError(labels.name, DataError::kNoOffset,
                      "label " + std::to_string(label) + " in " + row_of(labels, i) +
                          ", expected -1 (does not count) or 0 to " + std::to_string(end - 1));
    largest = std::max(largest, label);
  }
  return classes > 0 ? classes : static_cast<int>(largest) + 1;
}

/// Of labels that are too many to read for what only they tell; 2 stand for classes that are not
/// known.
int classes_unread(const Array& labels, int classes, HeaderFacts& facts) {
  require_integers(labels);
  facts.unseen.push_back(
      {"data.labels", "may hold numbers that are no class: " + labels.name + " was not read"});
  if (classes > 0) return classes;
  facts.unseen.push_back({"data.classes", "auto is the largest label + 1, and " + labels.name +
                                              " was not read; set it"});
  facts.classes_unknown = true;
  return 2;
}

std::size_t bytes_in(const Array& array) {
  return static_cast<std::size_t>(array.count()) * bytes_of(array.type);
}

/// Of an array that is not mapped as it stands in its file.
std::size_t held_bytes(const Array& array) {
  return array.offset < 0 ? bytes_in(array) : 0;
}

/// `facts`: where only headers are to be read.
std::unique_ptr<Dataset> make_arrays(const Options& options, HeaderFacts* facts) {
  const Extent extent = facts == nullptr ? Extent::all : Extent::header;
  const std::string& where = options.text("inputs");
  const bool labelled = options.has("labels"), real = options.has("targets");
  if (labelled == real)
    throw std::invalid_argument(
        labelled ? "both data.labels and data.targets are set; keep one of them"
                 : "data.labels is missing: class numbers; or data.targets: real numbers");
  const auto local = [&](const std::filesystem::path& file) { return local_file(options, file); };
  Array inputs = read_array(where, local, extent);
  const std::string& of_answers = options.text(labelled ? "labels" : "targets");
  Array answers = real && of_answers == kInputs ? inputs : read_array(of_answers, local, extent);
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
    const auto classes = static_cast<int>(options.integer_or("classes", 0));
    const bool unread = facts != nullptr && bytes_in(answers) > kReadableBytes;
    if (answers.data == nullptr && !unread) answers = read_array(of_answers, local);
    form.classes =
        unread ? classes_unread(answers, classes, *facts) : check_labels(answers, classes);
    form.labels = per_sample(answers);
  } else {
    form.labels = 0;
    form.targets = per_sample(answers);
  }
  if (facts != nullptr) facts->held_bytes += held_bytes(inputs) + held_bytes(answers);
  form.answers.assign(answers.shape.begin() + 1, answers.shape.end());
  return std::make_unique<Arrays>(std::move(form), std::move(inputs), std::move(answers),
                                  scale_of(options));
}

}  // namespace

Row arrays() {
  jobspec::Option targets =
      or_list(path_option("targets", {},
                          "instead of labels: n x k real numbers to predict; inputs = the inputs "
                          "themselves (autoencoders)"));
  targets.words = {kInputs};
  return {
      "arrays",
      "arrays in files: FILE.npy, FILE.npz:NAME or FILE.h5:NAME",
      {required(or_list(path_option(
           "inputs", {}, "n x features, n x h x w, n x c x h x w or n x c x d x h x w numbers"))),
       or_list(path_option("labels", {}, "class numbers: n, or n x positions; -1 does not count")),
       std::move(targets),
       jobspec::flag_option("sequences", false,
                            "inputs of n x a x b are positions x features (model lstm), not "
                            "images of one channel"),
       mean_option("an input x becomes (x - mean) / deviation"), deviation_option(),
       classes_option(1 << 24)},
      make_arrays,
      {"inputs", "labels", "targets"}};
}

}  // namespace thalweg::engine::data
