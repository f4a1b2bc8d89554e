// Which trials of a sweep need a check of their own. Only axes can make trials differ, so their
// values are the key.
#include <algorithm>
#include <unordered_map>

#include "engine/train/sweep_trials.h"

namespace thalweg::engine {
namespace {

using jobspec::ExpandedTrial;
using jobspec::Value;

/// Whether an axis takes real numbers only. They change no size, so not each is a shape.
bool is_real(const jobspec::Schema& schema, const std::string& axis) {
  bool found = false;
  for (const jobspec::Section& section : schema.sections) {
    const std::string prefix = section.path.empty() ? "" : section.path + ".";
    const auto all_real = [&](const std::vector<jobspec::Option>& options) {
      for (const jobspec::Option& option : options) {
        if (prefix + option.name != axis) continue;
        if (option.type != jobspec::OptionType::real) return false;
        found = true;
      }
      return true;
    };
    if (!all_real(section.options)) return false;
    for (const jobspec::Variant& variant : section.variants)
      if (!all_real(variant.options)) return false;
  }
  return found;
}

class Groups {
 public:
  Groups(const SweepTrials& trials, const jobspec::Schema& schema) : trials_(trials) {
    for (const jobspec::Axis& axis : trials.sweep.axes)
      real_.push_back(axis.name != "resources.time" && is_real(schema, axis.name));
    for (std::size_t i = 0; i < trials.trials.size(); ++i)
      add(i);
    for (std::size_t g = 0; g < groups.size(); ++g)
      finish(g);
  }

  std::vector<ShapeGroup> groups;

 private:
  struct Ends {
    std::size_t smallest, largest;
  };

  void add(std::size_t number) {
    const ExpandedTrial& trial = trials_.trials[number];
    if (number > 0 && trial.configuration == last_configuration_) {
      groups[last_group_].shape.trials.push_back(trial.number);
      return;
    }
    last_configuration_ = trial.configuration;
    const std::vector<jobspec::Axis>& axes = trials_.sweep.axes;
    key_.clear();
    numbers_.assign(axes.size(), nullptr);
    std::size_t axis = 0;
    for (const auto& [name, value] : trial.parameters.as_map()) {
      while (axes[axis].name != name)
        ++axis;  // left out by `when`
      const bool number_only = real_[axis] && value.is_number();
      if (number_only) numbers_[axis] = &value;
      if (name == "resources.time") continue;
      key_ += name + (number_only ? "" : '=' + value.to_text()) + '\n';
    }
    const auto [found, fresh] = index_.try_emplace(key_, groups.size());
    last_group_ = found->second;
    if (fresh) {
      ShapeGroup group;
      group.samples.push_back(number);
      groups.push_back(std::move(group));
      ends_.emplace_back(axes.size(), Ends{number, number});
      values_.push_back(numbers_);
    }
    groups[last_group_].shape.trials.push_back(trial.number);
    widen(number);
  }

  void widen(std::size_t number) {
    for (std::size_t axis = 0; axis < numbers_.size(); ++axis) {
      if (numbers_[axis] == nullptr) continue;
      Ends& ends = ends_[last_group_][axis];
      const double value = numbers_[axis]->as_double();
      if (value < value_of(ends.smallest, axis)) ends.smallest = number;
      if (value > value_of(ends.largest, axis)) ends.largest = number;
    }
  }

  double value_of(std::size_t number, std::size_t axis) const {
    return trials_.trials[number].parameters.find(trials_.sweep.axes[axis].name)->as_double();
  }

  void finish(std::size_t g) {
    std::vector<std::size_t>& samples = groups[g].samples;
    for (std::size_t axis = 0; axis < real_.size(); ++axis) {
      if (values_[g][axis] == nullptr) continue;
      samples.push_back(ends_[g][axis].smallest);
      samples.push_back(ends_[g][axis].largest);
    }
    std::sort(samples.begin() + 1, samples.end());
    samples.erase(std::unique(samples.begin(), samples.end()), samples.end());
  }

  const SweepTrials& trials_;
  std::vector<bool> real_;  ///< by axis
  std::unordered_map<std::string, std::size_t> index_;
  std::vector<std::vector<Ends>> ends_;  ///< by group and axis
  std::vector<std::vector<const Value*>> values_;
  std::vector<const Value*> numbers_;  ///< of the trial at hand, by axis
  std::string key_;
  std::int64_t last_configuration_ = 0;
  std::size_t last_group_ = 0;
};

}  // namespace

std::vector<ShapeGroup> group_shapes(const SweepTrials& trials, const jobspec::Schema& schema) {
  return std::move(Groups(trials, schema).groups);
}

}  // namespace thalweg::engine
