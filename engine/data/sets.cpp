#include "engine/data/sets.h"

#include <algorithm>
#include <utility>

namespace thalweg::engine::data {
namespace {

SampleForm joint_form(const std::vector<const Dataset*>& sets) {
  SampleForm form = sets.front()->form();
  for (const Dataset* set : sets) {
    const SampleForm& other = set->form();
    if (other.input != form.input || other.labels != form.labels || other.targets != form.targets ||
        (other.vocabulary > 0) != (form.vocabulary > 0))
      throw std::invalid_argument(
          "data: the samples of the validation or test set do not have the shape of the training "
          "samples");
    form.classes = std::max(form.classes, other.classes);
    form.vocabulary = std::max(form.vocabulary, other.vocabulary);
  }
  return form;
}

bool stored_alike(const StoredForm* a, const StoredForm* b) {
  return a != nullptr && b != nullptr && a->bytes == b->bytes && a->values == b->values;
}

class JoinedSets final : public Dataset {
 public:
  JoinedSets(SampleForm form, std::vector<std::unique_ptr<Dataset>> sets,
             std::vector<std::size_t> sizes, std::size_t validation, std::size_t test)
      : Dataset(std::move(form)),
        sets_(std::move(sets)),
        sizes_(std::move(sizes)),
        validation_(validation),
        test_(test),
        stored_(sets_.front()->stored()) {
    for (const auto& set : sets_)
      if (!stored_alike(stored_, set->stored())) stored_ = nullptr;
  }
  std::size_t size() const override {
    std::size_t all = 0;
    for (const std::size_t size : sizes_)
      all += size;
    return all;
  }
  std::string describe(std::size_t index, bool targets) const override {
    const auto [set, at] = place(index);
    return set->describe(at, targets);
  }
  std::vector<std::string> notes() const override {
    std::vector<std::string> all;
    for (const auto& set : sets_)
      for (std::string& note : set->notes())
        all.push_back(std::move(note));
    return all;
  }
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
  std::pair<const Dataset*, std::size_t> place(std::size_t index) const {
    std::size_t set = 0;
    while (index >= sizes_[set])
      index -= sizes_[set++];
    return {sets_[set].get(), index};
  }

  std::vector<std::unique_ptr<Dataset>> sets_;
  std::vector<std::size_t> sizes_;
  std::size_t validation_, test_;
  const StoredForm* stored_;
};

bool given(const jobspec::Value& tree, const std::string& name) {
  const jobspec::Value* value = tree.find(name);
  return value != nullptr && !value->is_null();
}

/// Null where the tree names no such set.
std::unique_ptr<Dataset> load_set(const Row& row, const jobspec::Value& tree,
                                  const std::string& prefix) {
  jobspec::Value own = tree;
  std::string missing, found, without;
  for (const std::string name : row.set_files) {
    if (given(tree, prefix + name)) {
      found = prefix + name;
      if (!given(tree, name)) without = prefix + name;
      own.set(name, *tree.find(prefix + name));
    } else if (given(tree, name)) {
      missing = prefix + name;
    }
    if (given(tree, name)) own.set("training_" + name, *tree.find(name));
  }
  if (found.empty()) return nullptr;
  if (!without.empty())
    throw std::invalid_argument("data." + without + " is set, but the training set has no data." +
                                without.substr(prefix.size()));
  if (!missing.empty())
    throw std::invalid_argument("data." + missing + " is missing: there is a data." + found);
  return row.maker(read_options(row, own));
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
  std::vector<const Dataset*> all;
  for (const auto& set : sets)
    all.push_back(set.get());
  return std::make_unique<JoinedSets>(joint_form(all), std::move(sets), std::move(sizes),
                                      validations, tests);
}

jobspec::Option test_option(const char* doc) {
  return flag_option("test", false, doc);
}

jobspec::Option test_set_option() {
  return flag_option("test_set", false,
                     "judge the 10,000 test images at the end of the run (metrics test/...); "
                     "validation stays a part of the others");
}

std::unique_ptr<Dataset> with_test_images(const Options& options, std::unique_ptr<Dataset> training,
                                          std::size_t kept,
                                          const std::function<std::unique_ptr<Dataset>()>& load) {
  const bool validates = options.flag("test");
  const bool tests = options.flag("test_set");
  if (validates && tests)
    throw std::invalid_argument(
        "data.test and data.test_set: what is validated on is no test any more; set one of them");
  if (validates) return join_sets(std::move(training), kept, load(), nullptr);
  if (!tests) return training;
  const std::size_t all = training->size();
  return join_sets(std::move(training), all, nullptr, load());
}

std::vector<jobspec::Option> options_of(const Row& row) {
  std::vector<jobspec::Option> options = row.options;
  for (const std::string name : row.set_files) {
    options.push_back(
        path_option("validation_" + name, {}, "of validation samples of their own, as " + name));
    options.push_back(path_option(
        "test_" + name, {},
        "of samples that are judged at the end of the run (metrics test/...), as " + name));
  }
  return options;
}

std::unique_ptr<Dataset> load_sets(const Row& row, const jobspec::Value& tree) {
  std::unique_ptr<Dataset> validation = load_set(row, tree, "validation_"),
                           test = load_set(row, tree, "test_"),
                           training = row.maker(read_options(row, tree));
  if (!validation && !test) return training;
  const std::size_t all = training->size();
  return join_sets(std::move(training), all, std::move(validation), std::move(test));
}

}  // namespace thalweg::engine::data
