// Conditions of `when` that no configuration can meet. They would leave a parameter out of every
// trial without a word, which is never meant: a misspelt value, or a parameter that was fixed
// since.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "jobspec/combine.h"
#include "jobspec/parse.h"

namespace thalweg::jobspec {
namespace {

bool is_among(const Value& value, const std::vector<Value>& values) {
  return std::any_of(values.begin(), values.end(),
                     [&](const Value& each) { return same(each, value); });
}

bool can_be(const Distribution& distribution, const Value& value) {
  if (const auto* listed = distribution.listed()) return is_among(value, *listed);
  if (!value.is_number() || distribution.continuous()) return false;
  const double x = value.as_double();
  if (distribution.whole() && x != std::floor(x)) return false;
  const auto bounds = distribution.bounds();
  return !bounds || (bounds->first.as_double() <= x && x <= bounds->second.as_double());
}

std::string listed_text(const std::vector<Value>& values) {
  constexpr std::size_t max_listed = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(values.size(), max_listed); ++i)
    text += (i == 0 ? "" : i + 1 == values.size() ? " or " : ", ") + values[i].to_text();
  if (values.size() > max_listed) text += fmt::format(", … ({} values)", values.size());
  return text;
}

/// What it takes, in words.
std::string taken_values(const Distribution& distribution) {
  if (const auto* listed = distribution.listed()) return listed_text(*listed);
  if (distribution.continuous()) return "a parameter with a list of values";
  const auto bounds = distribution.bounds();
  return fmt::format(
      "a {}number{}", distribution.whole() ? "whole " : "",
      bounds ? fmt::format(" from {} to {}", bounds->first.to_text(), bounds->second.to_text())
             : "");
}

std::string nearest_of(const Value& value, const std::vector<Value>& values) {
  std::vector<std::string> texts;
  for (const Value& each : values)
    texts.push_back(each.to_text());
  const std::string near = nearest(value.to_text(), texts);
  if (!near.empty() && near == value.to_text())
    return value.is_string() ? "leave the quotes out" : "write '" + near + "' in quotes";
  return near.empty() ? "" : "did you mean '" + near + "'?";
}

class WhenCheck {
 public:
  explicit WhenCheck(Parsing& parsing) : parsing_(parsing), sweep_(parsing.sweep) {}

  void check(const When& when) {
    const Axis* const axis = find_axis(sweep_, when.on);
    const Value* const fixed = sweep_.train.find(when.on);
    if (axis == nullptr && fixed == nullptr) return;  // the axis has a mistake of its own
    std::vector<const Value*> never;
    for (const Value& value : when.values)
      if (axis != nullptr ? !can_be(*axis->distribution, value) : !same(*fixed, value))
        never.push_back(&value);
    if (never.empty()) return;
    const std::vector<Value> only = fixed != nullptr ? std::vector{*fixed} : std::vector<Value>{};
    const std::vector<Value>* const listed = axis == nullptr ? &only : axis->distribution->listed();
    const std::string expected = axis == nullptr
                                     ? fixed->to_text() + ", which it is set to"
                                     : taken_values(*axis->distribution) +
                                           (listed != nullptr ? ", which are its values" : "");
    for (const Value* value : never) {
      const std::string hint = listed == nullptr ? "" : nearest_of(*value, *listed);
      const std::string key = "when." + when.axis + "." + when.on;
      if (never.size() == when.values.size())
        parsing_.diagnostics.add(
            value->place, key,
            fmt::format("found {}, which {} never is, expected {}", value->to_text(), when.on,
                        expected),
            hint.empty() ? when.axis + " would be left out of every trial" : hint);
      else if (parsing_.own)  // a variant of the engine's that this sweep does not have may stand
        parsing_.note(value->place, key, fmt::format("{} is never {}", when.on, value->to_text()),
                      hint);
    }
  }

  /// Values that are zipped come together: each condition can hold, and all of them never.
  void check_zipped(const When& when) {
    for (const std::vector<std::string>& group : sweep_.zip) {
      std::vector<const When*> conditions;
      for (const When& each : sweep_.when)
        if (each.axis == when.axis && std::count(group.begin(), group.end(), each.on) != 0)
          conditions.push_back(&each);
      if (conditions.size() < 2 || conditions.front() != &when) continue;
      const auto row_fits = [&](std::size_t row) {
        return std::all_of(conditions.begin(), conditions.end(), [&](const When* condition) {
          const auto& values = *find_axis(sweep_, condition->on)->distribution->listed();
          return is_among(values[row], condition->values);
        });
      };
      std::size_t row = 0;
      const std::size_t rows = find_axis(sweep_, when.on)->distribution->listed()->size();
      while (row < rows && !row_fits(row))
        ++row;
      if (row == rows) add_never_together(when.axis, when.values.front().place);
    }
  }

 private:
  void add_never_together(const std::string& axis, Place place) {
    parsing_.diagnostics.add(place, "when." + axis,
                             "found conditions that never hold together, as zip goes through "
                             "their values, expected some configuration to have it",
                             axis + " would be left out of every trial");
  }

  Parsing& parsing_;
  const Sweep& sweep_;
};

}  // namespace

void check_conditions(Parsing& parsing) {
  WhenCheck check(parsing);
  const std::size_t before = parsing.diagnostics.size();
  for (const When& when : parsing.sweep.when)
    if (!when.values.empty()) check.check(when);
  if (parsing.diagnostics.size() != before) return;
  for (const When& when : parsing.sweep.when)
    if (!when.values.empty()) check.check_zipped(when);
}

}  // namespace thalweg::jobspec
