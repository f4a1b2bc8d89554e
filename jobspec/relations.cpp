// Conditions look at parameters without a condition of their own, so one pass over them is enough.
#include "jobspec/relations.h"

#include <algorithm>
#include <set>

namespace thalweg::jobspec {

bool same(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return a.as_double() == b.as_double();
  return a == b;
}

std::size_t axis_index(const Sweep& sweep, const std::string& name) {
  std::size_t i = 0;
  while (i < sweep.axes.size() && sweep.axes[i].name != name)
    ++i;
  return i;
}

Groups groups_of(const Sweep& sweep) {
  Groups groups;
  std::set<std::size_t> used;
  for (std::size_t i = 0; i < sweep.axes.size(); ++i) {
    if (used.count(i)) continue;
    std::vector<std::size_t> group{i};
    for (const auto& names : sweep.zip) {
      if (std::find(names.begin(), names.end(), sweep.axes[i].name) == names.end()) continue;
      group.clear();
      for (const std::string& name : names)
        group.push_back(axis_index(sweep, name));
    }
    used.insert(group.begin(), group.end());
    groups.push_back(std::move(group));
  }
  return groups;
}

Conditions::Conditions(const Sweep& sweep) {
  for (const When& when : sweep.when) {
    const std::size_t on = axis_index(sweep, when.on);
    rules_.push_back({axis_index(sweep, when.axis), on, on < sweep.axes.size(),
                      sweep.train.find(when.on), &when.values});
  }
}

void Conditions::apply(Combination& combination) const {
  for (const Rule& rule : rules_) {
    const Value* value = rule.on_axis ? combination[rule.on] : rule.fixed;
    const bool holds = value && std::any_of(rule.values->begin(), rule.values->end(),
                                            [&](const Value& v) { return same(v, *value); });
    if (!holds) combination[rule.axis] = nullptr;
  }
}

Constraints::Constraints(const Sweep& sweep) {
  for (const Constraint& constraint : sweep.constraints) {
    Rule rule{&constraint, {}, {}};
    for (const std::string& name : constraint.names()) {
      const std::size_t axis = axis_index(sweep, name);
      if (axis < sweep.axes.size()) rule.varied.emplace_back(rule.values.size(), axis);
      rule.values.push_back(sweep.train.find(name));
    }
    rules_.push_back(std::move(rule));
  }
}

bool Constraints::keep(const Combination& combination) {
  return std::all_of(rules_.begin(), rules_.end(), [&](Rule& rule) {
    for (const auto& [place, axis] : rule.varied)
      rule.values[place] = combination[axis];
    try {
      return rule.constraint->holds(rule.values);
    } catch (const std::invalid_argument& bad) {
      throw BadConstraint(rule.constraint->place, rule.constraint->text() + ": " + bad.what(), "");
    }
  });
}

}  // namespace thalweg::jobspec
