#include "jobspec/combine.h"

#include <algorithm>
#include <set>

#include "jobspec/check.h"
#include "jobspec/parse.h"
#include "jobspec/search/search.h"
#include "jobspec/search/visit.h"

namespace thalweg::jobspec {

namespace {

/// Combinations that `when` leaves out cost time, too.
constexpr double max_combinations = 1e7;
/// "optimizer.name: adamw, schedule.decay: cosine"
std::string name_of(const Sweep& sweep, const Combination& combination) {
  std::string text;
  for (std::size_t i = 0; i < combination.size(); ++i) {
    if (!combination[i]) continue;
    if (!text.empty()) text += ", ";
    text += sweep.axes[i].name + ": " + combination[i]->to_text();
  }
  return text;
}

/// How to keep an option away from the variants that do not have it.
std::string remedy(const ValidationError& mismatch, bool varied, const Sweep& sweep) {
  std::string text = "add when: {" + mismatch.path + ": {" + mismatch.selector + ": [";
  for (std::size_t i = 0; i < mismatch.owners.size(); ++i) {
    text += (i ? ", " : "") + mismatch.owners[i];
  }
  text += "]}}";
  if (varied) return text;
  const Value* value = sweep.train.find(mismatch.path);
  return "move it to parameters as " + mismatch.path +
         ": {value: " + (value ? value->to_text() : "") + "} and " + text;
}

}  // namespace

ConfigurationCheck::ConfigurationCheck(const Sweep& sweep, const Schema& schema,
                                       Diagnostics& diagnostics)
    : sweep_(sweep), schema_(schema), diagnostics_(diagnostics) {
  const auto given = [&](const std::string& path) {
    return sweep.train.find(path) || find_axis(sweep, path);
  };
  std::set<std::string> divisors;
  for (const Section& section : schema.sections) {
    const auto add = [&](const std::vector<Option>& options) {
      for (const Option& option : options) {
        const std::string path = joined(section.path, option.name);
        if (option.divides.empty() || !given(path) || !given(option.divides)) continue;
        divisors.insert({path, option.divides});
      }
    };
    add(section.options);
    for (const Variant& variant : section.variants)
      add(variant.options);
  }
  for (std::size_t i = 0; i < sweep.axes.size(); ++i) {
    const Axis& axis = sweep.axes[i];
    targets_.emplace_back(schema, axis.name);
    if (targets_[i].selector() || divisors.count(axis.name)) deciding_.push_back(i);
    const bool endless = !axis.distribution->listed() && !axis.distribution->bounds();
    if (endless && resource_key(axis.name).empty()) endless_.push_back(i);
  }
  for (const When& when : sweep.when)
    conditional_.push_back(axis_index(sweep, when.axis));
  never_set_.insert(conditional_.begin(), conditional_.end());
}

void ConfigurationCheck::finish_whole_grid() {
  if (!kinds_.empty())
    for (const std::size_t i : never_set_)
      diagnostics_.add(
          sweep_.axes[i].place, "parameters." + sweep_.axes[i].name,
          "found conditions under when that no configuration meets, expected one that does",
          "they contradict each other, or a constraint");
}

void ConfigurationCheck::visit(const Combination& combination) {
  for (const std::size_t i : endless_) {
    if (combination[i]) check_sample(i, *combination[i]);
  }
  kind_.clear();
  for (const std::size_t i : deciding_) {
    if (combination[i]) kind_ += combination[i]->to_text();
    kind_ += '\n';
  }
  for (const std::size_t i : conditional_) {
    kind_ += combination[i] ? '1' : '0';
    if (combination[i]) never_set_.erase(i);
  }
  if (kinds_.insert(kind_).second) check_kind(combination);
}

void ConfigurationCheck::check_sample(std::size_t axis, const Value& value) {
  std::string hint;
  const std::string expected = targets_[axis].mismatch(value, &hint);
  if (expected.empty() || !reported_.insert(sweep_.axes[axis].name).second) return;
  diagnostics_.add(sweep_.axes[axis].place, "parameters." + sweep_.axes[axis].name,
                   "found the draw " + describe(value) + ", expected " + expected,
                   "choose a distribution with bounds");
}

Place ConfigurationCheck::place_of(const std::string& path) const {
  const std::size_t axis = axis_index(sweep_, path);
  if (axis < sweep_.axes.size()) return sweep_.axes[axis].place;
  // An option that is not in the file: what picked its variant is the next best.
  const std::string section = path.substr(0, path.rfind('.') + 1);
  for (const std::size_t i : deciding_) {
    if (sweep_.axes[i].name.compare(0, section.size(), section) == 0) return sweep_.axes[i].place;
  }
  return sweep_.train.place;
}

void ConfigurationCheck::check_kind(const Combination& combination) {
  const Value train = resolve_train(sweep_, combination);
  for (ValidationError& mismatch : check_train(train, schema_, {})) {
    if (reported_.count(mismatch.path)) continue;
    if (!reported_.insert(mismatch.path + mismatch.message).second) continue;
    const std::size_t axis = axis_index(sweep_, mismatch.path);
    const bool varied = axis < sweep_.axes.size();
    if (!mismatch.owners.empty()) mismatch.hint = remedy(mismatch, varied, sweep_);
    if (varied && !combination[axis]) mismatch.hint = "the condition under when leaves it out";
    if (const std::string where = name_of(sweep_, combination); !where.empty()) {
      mismatch.message += ", in the trial with " + where;
    }
    if (varied || mismatch.place.line == 0) mismatch.place = place_of(mismatch.path);
    report_error(std::move(mismatch), varied ? "parameters." : "train.", diagnostics_);
  }
}

void for_each_combination(const Sweep& sweep, const Visit& visit) {
  if (sweep.method->lists()) {
    visit_listed(sweep, visit);
  } else {
    visit_drawn(sweep, *sweep.method, visit);
  }
}

namespace {

/// Whether a name that this one begins with has a value of its own.
bool below_a_value(const Value& train, const std::string& name) {
  for (std::size_t dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1)) {
    const Value* outer = train.find(name.substr(0, dot));
    if (outer && !outer->is_map()) return true;
  }
  return false;
}

}  // namespace

Value resolve_train(const Sweep& sweep, const Combination& combination) {
  Value train = sweep.train;
  for (std::size_t i = 0; i < combination.size(); ++i) {
    if (!combination[i] || !resource_key(sweep.axes[i].name).empty()) continue;
    const std::string& name = sweep.axes[i].name;
    if (sweep.program && !train.find(name) && below_a_value(train, name))
      train.as_map().emplace_back(name, *combination[i]);
    else
      train.set(name, *combination[i]);
  }
  return train;
}

Resources resolve_resources(const Sweep& sweep, const Combination& combination) {
  Resources resources = sweep.resources;
  for (std::size_t i = 0; i < combination.size(); ++i) {
    const std::string key = resource_key(sweep.axes[i].name);
    if (combination[i] && !key.empty()) set_resource(resources, key, *combination[i]);
  }
  if (sweep.clamp) resources = resources.at_most(sweep.limits.max_nodes_per_job);
  return resources;
}

/// Combinations of a grid that keep the constraints, or a number above `most`.
double count_kept(const Sweep& sweep, double most) {
  double kept = 0;
  for_each_combination(sweep, [&](std::int64_t, const Combination&) { return ++kept <= most; });
  return kept;
}

namespace {

/// Trials of both stages.
double trials_of(const Sweep& sweep, const TuningStudy& study) {
  const auto seeds = static_cast<double>(sweep.seeds.size());
  return static_cast<double>(study.arms.size()) * (static_cast<double>(study.budget) * seeds +
                                                   static_cast<double>(study.final_seeds.size()));
}

/// Of one of so many configurations.
double max_seeds(const Sweep& sweep, double configurations) {
  if (!sweep.seed_looks) return static_cast<double>(sweep.seeds.size());
  const double rows = std::clamp(configurations, 2.0, static_cast<double>(sweep.limits.max_trials));
  return static_cast<double>(
      seed_plan(*sweep.seed_looks, static_cast<std::int64_t>(rows)).looks.back());
}

}  // namespace

bool check_size(const Sweep& sweep, Diagnostics& diagnostics) try {
  const auto max_allowed = static_cast<double>(sweep.limits.max_trials);
  if (sweep.study) {
    const double trials = trials_of(sweep, *sweep.study);
    if (trials <= max_allowed) return true;
    diagnostics.add({}, "study",
                    "found " + Value(trials).canonical() + " trials, expected at most " +
                        Value(max_allowed).canonical() + sweep.limits.max_trials_from,
                    "lower budget");
    return false;
  }
  const bool grid = sweep.method->lists();
  double combinations = grid || sweep.axes.empty() ? 1 : static_cast<double>(sweep.run_cap);
  for (const auto& group : grid ? groups_of(sweep) : each_groups(sweep)) {
    const auto values = sweep.axes[group.front()].distribution->grid();
    combinations *= values ? static_cast<double>(values->size()) : 1;
  }
  const double max_trials = max_allowed;
  double configurations = combinations;
  if (grid && sweep.run_cap > 0) {
    configurations = std::min(configurations, static_cast<double>(sweep.run_cap));
  }
  const double seeds = max_seeds(sweep, configurations);
  if (!sweep.constraints.empty() && combinations <= max_combinations &&
      configurations * seeds > max_trials)
    configurations = std::min(configurations, count_kept(sweep, max_trials / seeds));
  const double trials = configurations * seeds;
  if (combinations <= max_combinations && trials <= max_trials) return true;
  const bool too_many_trials = trials > max_trials;
  diagnostics.add(sweep.axes.empty() ? Place{} : sweep.axes.front().place, "parameters",
                  "found " + Value(too_many_trials ? trials : combinations).canonical() +
                      (too_many_trials ? " trials" : " combinations") + ", expected at most " +
                      Value(too_many_trials ? max_trials : max_combinations).canonical() +
                      (too_many_trials ? sweep.limits.max_trials_from : ""),
                  !grid             ? "lower run_cap"
                  : too_many_trials ? "shorten the lists, or set run_cap"
                                    : "use method: random");
  return false;
} catch (const BadConstraint& bad) {
  report_error(bad, diagnostics);
  return false;
}

bool is_last(const Sweep& sweep, std::int64_t configurations) {
  return sweep.method->lists() && sweep.run_cap > 0 && configurations >= sweep.run_cap;
}

void report_error(const BadConstraint& bad, Diagnostics& diagnostics) {
  diagnostics.add(bad.place, "constraint", bad.what(), bad.hint);
}

void check_configurations(const Sweep& sweep, const Schema& schema, Diagnostics& diagnostics) try {
  if (!check_size(sweep, diagnostics)) return;
  if (sweep.study) {
    for (const Sweep& part : draws_of(sweep))
      check_configurations(part, schema, diagnostics);
    return;
  }
  ConfigurationCheck check(sweep, schema, diagnostics);
  bool whole = sweep.method->lists();
  for_each_combination(sweep, [&](std::int64_t index, const Combination& combination) {
    if (is_last(sweep, index)) return whole = false;
    check.visit(combination);
    return true;
  });
  if (whole && diagnostics.empty()) check.finish_whole_grid();
} catch (const BadConstraint& bad) {
  report_error(bad, diagnostics);
}

}  // namespace thalweg::jobspec
