#include "engine/data/sets.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "engine/data/files.h"
#include "engine/data/inputs_as_targets.h"

namespace thalweg::engine::data {
namespace {

SampleForm joint_form(const std::vector<const Dataset*>& sets) {
  SampleForm form = sets.front()->form();
  for (const Dataset* set : sets) {
    form.classes = std::max(form.classes, set->form().classes);
    form.vocabulary = std::max(form.vocabulary, set->form().vocabulary);
  }
  return form;
}

/// But for the numbers of classes and tokens.
bool alike(const SampleForm& a, const SampleForm& b) {
  return a.input == b.input && a.labels == b.labels && a.targets == b.targets &&
         (a.vocabulary > 0) == (b.vocabulary > 0);
}

bool stored_alike(const StoredForm* a, const StoredForm* b) {
  return a == b || (a != nullptr && b != nullptr && a->bytes == b->bytes && a->values == b->values);
}

/// The first `sizes[i]` samples of each set, one set after another.
class JoinedSets final : public Dataset {
 public:
  JoinedSets(std::vector<std::unique_ptr<Dataset>> sets, const std::vector<std::size_t>& sizes,
             std::size_t validation, std::size_t test)
      : Dataset(joint_form(pointers(sets))),
        sets_(std::move(sets)),
        validation_(validation),
        test_(test),
        stored_(sets_.front()->stored()) {
    for (const std::size_t size : sizes)
      ends_.push_back(this->size() + size);
    for (const auto& set : sets_)
      if (!stored_alike(stored_, set->stored())) stored_ = nullptr;
  }
  std::size_t size() const override { return ends_.empty() ? 0 : ends_.back(); }
  std::string describe(std::size_t index, bool targets) const override {
    const auto [set, at] = place(index);
    return set->describe(at, targets);
  }
  /// Of the first: all sets have samples of one form.
  std::vector<std::string> notes() const override { return sets_.front()->notes(); }
  std::size_t own_validation() const override { return validation_; }
  std::size_t own_test() const override { return test_; }
  const StoredForm* stored() const override { return stored_; }
  const std::uint8_t* stored_sample(std::size_t index) const override {
    const auto [set, at] = place(index);
    return set->stored_sample(at);
  }
  void copy(std::size_t index, float* out) const override {
    const auto [set, at] = place(index);
    set->copy(at, out);
  }
  void copy_labels(std::size_t index, std::int32_t* out) const override {
    const auto [set, at] = place(index);
    set->copy_labels(at, out);
  }
  void copy_targets(std::size_t index, float* out) const override {
    const auto [set, at] = place(index);
    set->copy_targets(at, out);
  }

 private:
  static std::vector<const Dataset*> pointers(const std::vector<std::unique_ptr<Dataset>>& sets) {
    std::vector<const Dataset*> all;
    for (const auto& set : sets)
      all.push_back(set.get());
    return all;
  }
  std::pair<const Dataset*, std::size_t> place(std::size_t index) const {
    const auto set = static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), index) -
                                              ends_.begin());
    return {sets_[set].get(), set == 0 ? index : index - ends_[set - 1]};
  }

  std::vector<std::unique_ptr<Dataset>> sets_;
  std::vector<std::size_t> ends_;  ///< of each set's samples among all
  std::size_t validation_, test_;
  const StoredForm* stored_;
};

std::string in_words(const SampleForm& form) {
  std::string text;
  for (const std::int64_t n : form.input)
    text += (text.empty() ? "" : " x ") + std::to_string(n);
  return text + (form.labels > 0 ? " with " + std::to_string(form.labels) + " labels"
                                 : " with " + std::to_string(form.targets) + " targets");
}

bool given(const jobspec::Value& tree, const std::string& name) {
  const jobspec::Value* value = tree.find(name);
  return value != nullptr && !value->is_null();
}

/// Whether the tree has files for that option of the row, and no word that stands for none.
bool names_files(const Row& row, const jobspec::Value& tree, const std::string& name) {
  if (!given(tree, name)) return false;
  const auto option = std::find_if(row.options.begin(), row.options.end(),
                                   [&](const jobspec::Option& o) { return o.name == name; });
  const std::vector<jobspec::Value> no_paths = jobspec::no_paths_of(*option);
  return std::find(no_paths.begin(), no_paths.end(), *tree.find(name)) == no_paths.end();
}

/// All files of one set as one dataset.
std::unique_ptr<Dataset> load_files(const Row& row, const jobspec::Value& tree, const Make& make) {
  struct Named {
    std::string name;
    std::vector<std::string> files;
  };
  std::vector<Named> named;
  for (const std::string name : row.set_files)
    if (names_files(row, tree, name)) named.push_back({name, files_of(*tree.find(name))});
  if (named.empty()) return make(read_options(row, tree));  // says what is missing
  const Named& first = named.front();
  for (const Named& other : named)
    if (other.files.size() != first.files.size())
      throw std::invalid_argument("data." + other.name + ": " + std::to_string(other.files.size()) +
                                  " files for the " + std::to_string(first.files.size()) +
                                  " of data." + first.name);
  // Lists may be long: a copy for each file is without them.
  jobspec::Value rest = tree;
  for (const std::string name : row.set_files)
    for (const char* prefix : {"", "validation_", "test_"})
      if (const std::string key = prefix + name; given(tree, key) && tree.find(key)->is_list())
        rest.set(key, jobspec::Value());
  std::vector<std::unique_ptr<Dataset>> parts;
  for (std::size_t i = 0; i < first.files.size(); ++i) {
    jobspec::Value one = rest;
    for (const Named& option : named)
      one.set(option.name, option.files[i]);
    parts.push_back(make(read_options(row, one)));
    if (!parts.back()) return nullptr;
  }
  return concatenated(std::move(parts), first.files);
}

/// Nothing where the tree names no such set.
std::optional<std::unique_ptr<Dataset>> load_set(const Row& row, const jobspec::Value& tree,
                                                 const std::string& prefix, const Make& make) {
  jobspec::Value own = tree;
  std::string missing, found, without;
  for (const std::string name : row.set_files) {
    if (given(tree, prefix + name)) {
      found = prefix + name;
      if (!given(tree, name)) without = prefix + name;
      own.set(name, *tree.find(prefix + name));
    } else if (names_files(row, tree, name)) {
      missing = prefix + name;
    }
  }
  if (found.empty()) return {};
  if (!without.empty())
    throw std::invalid_argument("data." + without + " is set, but the training set has no data." +
                                without.substr(prefix.size()));
  if (!missing.empty())
    throw std::invalid_argument("data." + missing + " is missing: there is a data." + found);
  return load_files(row, own, make);
}

}  // namespace

std::unique_ptr<Dataset> join_sets(std::unique_ptr<Dataset> training, std::size_t kept,
                                   std::unique_ptr<Dataset> validation,
                                   std::unique_ptr<Dataset> test) {
  const std::size_t validations = validation ? validation->size() : 0;
  const std::size_t tests = test ? test->size() : 0;
  std::vector<std::unique_ptr<Dataset>> sets;
  std::vector<std::size_t> sizes{kept};
  sets.push_back(std::move(training));
  for (auto* set : {&validation, &test})
    if (*set) {
      sizes.push_back((*set)->size());
      sets.push_back(std::move(*set));
    }
  for (const auto& set : sets)
    if (!alike(set->form(), sets.front()->form()))
      throw std::invalid_argument(
          "data: the samples of the validation or test set do not have the shape of the training "
          "samples");
  return std::make_unique<JoinedSets>(std::move(sets), sizes, validations, tests);
}

std::unique_ptr<Dataset> concatenated(std::vector<std::unique_ptr<Dataset>> parts,
                                      const std::vector<std::string>& names) {
  if (parts.size() == 1) return std::move(parts.front());
  std::vector<std::size_t> sizes;
  std::size_t all = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!alike(parts[i]->form(), parts[0]->form()))
      throw DataError(names[i], DataError::kNoOffset,
                      "its samples are " + in_words(parts[i]->form()) + ", those of " + names[0] +
                          " are " + in_words(parts[0]->form()));
    sizes.push_back(parts[i]->size());
    all += sizes.back();
    if (all > std::numeric_limits<std::uint32_t>::max())
      throw DataError(names[i], DataError::kNoOffset,
                      "with this file there are more than 2^32 samples, which are not supported");
  }
  return std::make_unique<JoinedSets>(std::move(parts), sizes, 0, 0);
}

jobspec::Option test_option(const char* doc) {
  return flag_option("test", false, doc);
}

jobspec::Option test_set_option() {
  return flag_option("test_set", false,
                     "evaluate on the 10,000 test images at the end of the run (metrics test/...); "
                     "validation stays a part of the others");
}

std::unique_ptr<Dataset> with_test_images(const Options& options, std::unique_ptr<Dataset> training,
                                          std::size_t kept,
                                          const std::function<std::unique_ptr<Dataset>()>& load) {
  const bool validates = options.flag("test");
  const bool tests = options.flag("test_set");
  if (validates && tests)
    throw std::invalid_argument(
        "data.test and data.test_set: a set that is validated on is no longer a test; set one of "
        "them");
  if (validates) return join_sets(std::move(training), kept, load(), nullptr);
  if (!tests) return training;
  const std::size_t all = training->size();
  return join_sets(std::move(training), all, nullptr, load());
}

std::vector<jobspec::Option> options_of(const Row& row) {
  std::vector<jobspec::Option> options = row.options;
  for (const std::string name : row.set_files) {
    const auto add = [&](const std::string& prefix, const std::string& doc) {
      options.push_back(or_list(path_option(prefix + name, {}, doc + name)));
    };
    add("validation_", "of validation samples of their own, as ");
    add("test_", "of samples that are evaluated at the end of the run (metrics test/...), as ");
  }
  if (!has_option(row.options, "targets")) options.push_back(targets_option());
  return options;
}

std::unique_ptr<Dataset> load_sets(const Row& row, const jobspec::Value& tree, const Make& make) {
  jobspec::Value with_training = tree;
  for (const std::string name : row.set_files)
    if (names_files(row, tree, name))
      with_training.set("training_" + name, files_of(*tree.find(name)).front());
  auto validation = load_set(row, with_training, "validation_", make);
  auto test = load_set(row, with_training, "test_", make);
  std::unique_ptr<Dataset> training = load_files(row, with_training, make);
  if ((!validation && !test) || !training) return training;
  for (const auto* set : {&validation, &test})
    if (*set && !**set) return nullptr;
  const std::size_t all = training->size();
  return join_sets(std::move(training), all, std::move(validation).value_or(nullptr),
                   std::move(test).value_or(nullptr));
}

}  // namespace thalweg::engine::data
