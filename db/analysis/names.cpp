#include "db/analysis/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "db/analysis/records.h"
#include "jobspec/diagnostic.h"
#include "jobspec/value.h"

namespace thalweg::db::analysis {
namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

template <class Test>
std::vector<std::string> those(const std::vector<std::string>& names, const Test& test) {
  std::vector<std::string> found;
  std::copy_if(names.begin(), names.end(), std::back_inserter(found), test);
  return found;
}

std::vector<std::string> ending(const std::vector<std::string>& names, const std::string& last) {
  return those(names, [&](const std::string& name) { return name.ends_with("." + last); });
}

std::string did_you_mean(const std::string& name) {
  return name.empty() ? "" : "; did you mean '" + name + "'?";
}

}  // namespace

ParameterNames::ParameterNames(ReadStore& store, std::int64_t sweep)
    : store_(store), sweep_(sweep), varied_(varied_parameters(store, sweep)) {}

std::vector<std::string> ParameterNames::all_of(const std::vector<std::string>& names) const {
  std::vector<std::string> found;
  for (const std::string& name : names) {
    const std::string meant = full(name);
    if (!contains(found, meant)) found.push_back(meant);
  }
  return found;
}

bool ParameterNames::varies(const std::string& name) const {
  return contains(varied_, name);
}

std::vector<std::string> ParameterNames::varied_but(const std::vector<std::string>& names) const {
  return those(varied_, [&](const std::string& name) { return !contains(names, name); });
}

std::string ParameterNames::full(const std::string& name) const {
  if (varies(name) || has_hyperparameter(store_, sweep_, name)) return name;
  const std::vector<std::string> titled = ending(varied_, name);
  if (titled.size() == 1) return titled.front();
  const std::vector<std::string> all = all_hyperparameters(store_, sweep_);
  const std::vector<std::string> fixed = ending(all, name);
  if (titled.empty() && fixed.size() == 1) return fixed.front();
  throw std::invalid_argument(fmt::format("sweep {} has no parameter '{}'{}", sweep_, name,
                                          did_you_mean(suggestion(name, all))));
}

std::string ParameterNames::suggestion(const std::string& name,
                                       const std::vector<std::string>& all) const {
  // Of a section, what picks its variant says more than its options.
  for (const auto* names : {&varied_, &all}) {
    if (contains(*names, name + ".name")) return name + ".name";
  }
  for (const auto* names : {&varied_, &all}) {
    const auto inside =
        those(*names, [&](const std::string& other) { return other.starts_with(name + "."); });
    if (!inside.empty()) return inside.front();
    const auto same = ending(*names, name);
    if (!same.empty()) return same.front();
  }
  return jobspec::nearest(name, all);
}

void check_metric(ReadStore& store, std::int64_t sweep, const std::string& metric) {
  const auto names = store.metric_names(sweep);
  if (contains(names, metric)) return;
  throw std::invalid_argument(fmt::format("sweep {} has no metric '{}'{}", sweep, metric,
                                          did_you_mean(jobspec::nearest(metric, names))));
}

}  // namespace thalweg::db::analysis
