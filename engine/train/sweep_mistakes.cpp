// From a mistake of a trial to a line of the sweep file. Values keep their places when a trial is
// made of them; where a parameter set them, it is the parameter's.
#include <algorithm>
#include <utility>

#include "base/text.h"
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

/// "trials 3, 7, 12 and 5 more"
std::string in_words(const std::vector<std::int64_t>& trials) {
  constexpr std::size_t kNamed = 3;
  const std::size_t named = trials.size() > kNamed + 1 ? kNamed : trials.size();
  std::string text = trials.size() == 1 ? "trial " : "trials ";
  for (std::size_t i = 0; i < named; ++i) {
    const bool last = i + 1 == trials.size();
    text += (i == 0 ? "" : last ? " and " : ", ") + std::to_string(trials[i]);
  }
  if (named < trials.size()) text += " and " + std::to_string(trials.size() - named) + " more";
  return text;
}

/// A parameter's value as one line of a message holds it: of long lists and texts the beginning.
std::string shortened(const Value& value) {
  constexpr std::size_t max_items = 6, max_bytes = 60;
  std::string text;
  if (value.is_list() && value.as_list().size() > max_items) {
    for (std::size_t i = 0; i < max_items; ++i)
      text += (i == 0 ? "[" : ", ") + value.as_list()[i].to_text();
    text += ", … " + std::to_string(value.as_list().size() - max_items) + " more]";
  } else {
    text = value.to_text();
  }
  if (text.size() <= max_bytes) return text;
  return std::string(cut_utf8(text, max_bytes)) + "…";
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
  add({std::move(d), affected.trials, affected.at_least, error.missing_file});
}

void SweepMistakes::add(const Affected& affected, const std::string& key, std::string message,
                        std::string hint) {
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
  add({std::move(d), affected.trials, affected.at_least, false});
}

std::vector<PlacedError> SweepMistakes::finish() {
  const std::size_t all = trials_.trials.size();
  for (PlacedError& error : errors_) {
    std::sort(error.trials.begin(), error.trials.end());
    error.trials.erase(std::unique(error.trials.begin(), error.trials.end()), error.trials.end());
    if (error.trials.size() == all) continue;
    error.diagnostic.message += std::string(", in ") + (error.at_least ? "at least " : "") +
                                in_words(error.trials) + " of " + std::to_string(all);
    const auto found = std::find_if(
        trials_.trials.begin(), trials_.trials.end(),
        [&](const ExpandedTrial& trial) { return trial.number == error.trials.front(); });
    std::string which;
    for (const auto& [name, value] : found->parameters.as_map())
      which += (which.empty() ? "" : ", ") + name + ": " + shortened(value);
    if (which.empty()) continue;
    const bool several = error.trials.size() > 1;
    error.diagnostic.message += (several ? ", the first with " : ", with ") + which;
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
  if (error.trials.front() < known.trials.front()) {
    std::swap(known.trials, error.trials);
    known.diagnostic = std::move(error.diagnostic);
  }
  known.at_least = known.at_least || error.at_least;
  known.trials.insert(known.trials.end(), error.trials.begin(), error.trials.end());
}

}  // namespace thalweg::engine
