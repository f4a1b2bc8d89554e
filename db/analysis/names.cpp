#include "db/analysis/names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "db/analysis/records.h"
#include "jobspec/diagnostic.h"
#include "jobspec/metrics.h"
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

/// Those of the run itself (perf/...) last, since they are seldom what is compared.
std::string there_are(std::vector<std::string> metrics) {
  constexpr std::size_t max_listed = 12;
  std::sort(metrics.begin(), metrics.end());
  metrics.erase(std::unique(metrics.begin(), metrics.end()), metrics.end());
  if (metrics.empty()) return ": none has been reported yet";
  std::stable_partition(metrics.begin(), metrics.end(), [](const std::string& name) {
    return !name.starts_with("perf/") && !name.starts_with("sync/");
  });
  const std::size_t more = metrics.size() - std::min(metrics.size(), max_listed);
  metrics.resize(metrics.size() - more);
  return fmt::format("; there are {}{}", fmt::join(metrics, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

}  // namespace

ParameterNames::ParameterNames(ReadStore& store, std::vector<std::int64_t> sweeps)
    : store_(store), sweeps_(std::move(sweeps)) {
  const auto add = [&](const std::vector<std::string>& names) {
    std::copy_if(names.begin(), names.end(), std::back_inserter(varied_),
                 [&](const std::string& name) { return !varies(name); });
  };
  for (const std::int64_t sweep : sweeps_)
    add(varied_parameters(store, sweep));
  if (sweeps_.size() > 1) add(differing_parameters(store, sweeps_));
}

bool ParameterNames::has(const std::string& name) const {
  return std::any_of(sweeps_.begin(), sweeps_.end(),
                     [&](std::int64_t sweep) { return has_hyperparameter(store_, sweep, name); });
}

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
  if (varies(name) || has(name) || name == sweep_name) return name;
  const std::vector<std::string> titled = ending(varied_, name);
  if (titled.size() == 1) return titled.front();
  std::vector<std::string> all;
  for (const std::int64_t sweep : sweeps_)
    for (std::string& other : all_hyperparameters(store_, sweep))
      if (!contains(all, other)) all.push_back(std::move(other));
  const std::vector<std::string> fixed = ending(all, name);
  if (titled.empty() && fixed.size() == 1) return fixed.front();
  throw std::invalid_argument(fmt::format("{} {} no parameter '{}'{}", sweeps_text(sweeps_),
                                          sweeps_.size() == 1 ? "has" : "have", name,
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

void by_is_missing(ReadStore& store, const std::vector<std::int64_t>& sweeps) {
  const std::vector<std::string> varied = ParameterNames(store, sweeps).varied_but({});
  const std::string verb = sweeps.size() == 1 ? "varies" : "vary";
  if (varied.empty())
    throw std::invalid_argument(
        fmt::format("nothing to compare: {} {} no parameter (--by sweep, "
                    "or a name of the train block, makes groups)",
                    sweeps_text(sweeps), verb));
  throw std::invalid_argument(fmt::format("what is to be compared? {} {} {}: --by {}",
                                          sweeps_text(sweeps), verb, fmt::join(varied, ", "),
                                          varied.front()));
}

std::string sweeps_text(const std::vector<std::int64_t>& sweeps) {
  return fmt::format("sweep{} {}", sweeps.size() == 1 ? "" : "s", fmt::join(sweeps, ", "));
}

void check_metric(ReadStore& store, const std::vector<std::int64_t>& sweeps,
                  const std::string& metric) {
  std::vector<std::string> all;
  for (const std::int64_t sweep : sweeps) {
    const auto names = store.metric_names(sweep);
    if (contains(names, metric)) return;
    all.insert(all.end(), names.begin(), names.end());
  }
  const std::string meant = jobspec::nearest_metric(metric, all);
  throw std::invalid_argument(fmt::format("{} {} no metric '{}'{}", sweeps_text(sweeps),
                                          sweeps.size() == 1 ? "has" : "have", metric,
                                          meant.empty() ? there_are(all) : did_you_mean(meant)));
}

std::vector<std::string> which_is_better(ReadStore& store,
                                         const std::vector<std::int64_t>& sweeps) {
  std::vector<std::string> lines;
  for (const std::int64_t id : sweeps) {
    const auto sweep = store.sweep(id);
    if (!sweep) continue;
    std::string line =
        fmt::format("{}: {} is better", sweep->metric, jobspec::better_values(sweep->goal));
    if (std::find(lines.begin(), lines.end(), line) == lines.end())
      lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace thalweg::db::analysis
