// From a mistake of a trial to a line of the sweep file. Values keep their places when a trial is
// made of them; where a parameter set them, it is the parameter's.
#include <algorithm>
#include <utility>

#include "engine/train/sweep_trials.h"

namespace thalweg::engine {
namespace {

using jobspec::ExpandedTrial;
using jobspec::Place;
using jobspec::Value;

/// "layers[1].kind" as {"layers", "[1]", "kind"}.
std::vector<std::string> parts_of(const std::string& key) {
  std::vector<std::string> parts;
  std::string part;
  for (const char c : key) {
    if ((c == '.' || c == '[') && !part.empty()) {
      parts.push_back(std::exchange(part, {}));
    }
    if (c != '.' && c != ']') part += c;
  }
  if (!part.empty()) parts.push_back(part);
  return parts;
}

const Value* member(const Value& value, const std::string& part) {
  if (value.is_map()) {
    for (const auto& [key, inner] : value.as_map())
      if (key == part) return &inner;
  }
  if (value.is_list() && part.starts_with("[")) {
    const auto at = static_cast<std::size_t>(std::stoul(part.substr(1)));
    if (at < value.as_list().size()) return &value.as_list()[at];
  }
  return nullptr;
}

/// The deepest place on the way to the key.
Place place_in(const Value& tree, const std::string& key) {
  const Value* at = &tree;
  Place place = tree.place;
  for (const std::string& part : parts_of(key)) {
    at = member(*at, part);
    if (at == nullptr) break;
    if (at->place.line > 0) place = at->place;
  }
  return place;
}

bool is_below(const std::string& key, const std::string& axis) {
  return key == axis || key.starts_with(axis + ".") || key.starts_with(axis + "[");
}

}  // namespace

void SweepMistakes::add(const ExpandedTrial& trial, const Affected& affected,
                        const CheckError& error) {
  const jobspec::Axis* parameter = nullptr;
  for (const jobspec::Axis& axis : trials_.sweep.axes)
    if (is_below(error.key, axis.name) && trial.parameters.find(axis.name)) parameter = &axis;
  jobspec::Diagnostic d;
  d.key = (parameter ? "parameters." : "train") +
          (parameter || error.key.empty() ? error.key : "." + error.key);
  d.place = place_in(trial.train, error.key);
  if (parameter && place_in(*trial.train.find(parameter->name), "").line == 0)
    d.place = parameter->place;
  d.message = error.message;
  d.hint = error.hint;
  add({std::move(d), affected.trials, trial.number, affected.at_least, error.missing_file});
}

void SweepMistakes::add(const ExpandedTrial& trial, const Affected& affected,
                        const std::string& key, std::string message, std::string hint) {
  jobspec::Diagnostic d;
  d.key = key;
  d.message = std::move(message);
  d.hint = std::move(hint);
  const auto found = trials_.sweep.places.find(key);
  if (found != trials_.sweep.places.end()) d.place = found->second;
  for (const jobspec::Axis& axis : trials_.sweep.axes)
    if (axis.name == key) {
      d.key = "parameters." + key;
      d.place = axis.place;
    }
  add({std::move(d), affected.trials, trial.number, affected.at_least, false});
}

std::vector<PlacedError> SweepMistakes::finish() {
  const auto all = static_cast<std::int64_t>(trials_.trials.size());
  for (PlacedError& error : errors_) {
    if (error.trials == all) continue;
    error.diagnostic.message += std::string(error.at_least ? ", in at least " : ", in ") +
                                std::to_string(error.trials) + " of " + std::to_string(all) +
                                " trials, the first is " + std::to_string(error.first);
    const ExpandedTrial& trial = trials_.trials[static_cast<std::size_t>(error.first) - 1];
    std::string which;
    for (const auto& [name, value] : trial.parameters.as_map())
      which += (which.empty() ? "" : ", ") + name + ": " + value.to_text();
    if (!which.empty()) error.diagnostic.message += " with " + which;
  }
  std::stable_sort(errors_.begin(), errors_.end(), [](const auto& a, const auto& b) {
    return a.diagnostic.place.line < b.diagnostic.place.line;
  });
  return std::move(errors_);
}

/// Messages that differ in numbers only are one mistake of several trials.
void SweepMistakes::add(PlacedError error) {
  error.diagnostic.file = trials_.sweep.file;
  std::string kind = error.diagnostic.key + '\n' + error.diagnostic.message;
  std::erase_if(kind, [](char c) { return (c >= '0' && c <= '9') || c == '.' || c == ','; });
  const auto [found, fresh] = index_.try_emplace(std::move(kind), errors_.size());
  if (fresh) {
    errors_.push_back(std::move(error));
    return;
  }
  PlacedError& known = errors_[found->second];
  error.trials += known.trials;
  error.at_least = error.at_least || known.at_least;
  if (error.first > known.first) {
    error.first = known.first;
    error.diagnostic = known.diagnostic;
  }
  known = std::move(error);
}

}  // namespace thalweg::engine
