#include "daemon/controller/extension.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "daemon/state/resources.h"
#include "jobspec/record_text.h"
#include "jobspec/run_length.h"

namespace thalweg::daemon {

std::vector<jobspec::ExpandedTrial> missing_trials(const jobspec::Expansion& wanted,
                                                   const std::vector<db::TrialRow>& there,
                                                   bool by_number) {
  if (by_number) {
    if (wanted.trials.size() < there.size())
      throw std::invalid_argument(
          fmt::format("the changed file gives {} trials, but the sweep has {}: raise run_cap; "
                      "existing trials stay",
                      wanted.trials.size(), there.size()));
    return {wanted.trials.begin() + static_cast<std::ptrdiff_t>(there.size()), wanted.trials.end()};
  }
  std::map<std::string, std::int64_t> configurations;
  std::map<std::pair<std::string, std::uint64_t>, std::int64_t> not_found;
  std::int64_t trials = 0, last = 0;
  for (const db::TrialRow& row : there) {
    configurations.emplace(row.hash, row.configuration);
    not_found.emplace(std::pair(row.hash, row.seed), row.id.trial);
    trials = std::max(trials, row.id.trial);
    last = std::max(last, row.configuration);
  }
  std::vector<jobspec::ExpandedTrial> missing;
  for (const jobspec::ExpandedTrial& each : wanted.trials) {
    if (not_found.erase({each.hash, each.seed}) > 0) continue;
    jobspec::ExpandedTrial trial = each;
    trial.number = ++trials;
    const auto [configuration, is_new] = configurations.emplace(trial.hash, last + 1);
    if (is_new) ++last;
    trial.configuration = configuration->second;
    missing.push_back(std::move(trial));
  }
  if (not_found.empty()) return missing;
  std::int64_t first = trials;
  for (const auto& [key, number] : not_found)
    first = std::min(first, number);
  throw std::invalid_argument(fmt::format(
      "the changed file no longer gives trial {}{}: extending only adds trials and leaves existing "
      "ones unchanged (`thalweg rerun` and `submit` make a new sweep)",
      first, not_found.size() > 1 ? fmt::format(" (nor {} others)", not_found.size() - 1) : ""));
}

std::vector<db::TrialRow> next_seeds(const std::vector<db::TrialRow>& there,
                                     const std::set<std::int64_t>& closed, std::int64_t first,
                                     std::int64_t last) {
  std::map<std::int64_t, const db::TrialRow*> configurations;
  std::int64_t number = 0;
  for (const db::TrialRow& row : there) {
    number = std::max(number, row.id.trial);
    if (closed.count(row.configuration) == 0) configurations.emplace(row.configuration, &row);
  }
  std::vector<db::TrialRow> added;
  for (const auto& [configuration, known] : configurations)
    for (std::int64_t seed = first; seed <= last; ++seed) {
      db::TrialRow row;
      row.id = {known->id.sweep, ++number, 0};
      row.configuration = configuration;
      row.seed = static_cast<std::uint64_t>(seed);
      row.hash = known->hash;
      row.train = known->train;
      row.parameters = known->parameters;
      row.resources = known->resources;
      added.push_back(std::move(row));
    }
  return added;
}

std::vector<db::TrialRow> lengthened(std::vector<db::TrialRow> trials, const std::string& key,
                                     std::int64_t value, const jobspec::Schema& schema) {
  for (db::TrialRow& row : trials) {
    const std::string trial = row.id.to_string();
    jobspec::Value train = jobspec::read_record(row.train, trial);
    const jobspec::Value* const now = train.find(key);
    if (now == nullptr || !now->is_int())
      throw std::invalid_argument(
          fmt::format("the length of trial {} is not written as {}", trial, key));
    if (jobspec::read_yaml(row.parameters, trial).find(key) != nullptr)
      throw std::invalid_argument(fmt::format(
          "{} is a parameter of the sweep: add values to it (--set parameters.{}…)", key, key));
    if (now->as_int() >= value)
      throw std::invalid_argument(fmt::format("trial {} has {} {} already, and {} is not more",
                                              trial, now->as_int(), key, value));
    if (const std::string what = jobspec::depends_on_run_length(schema, train); !what.empty())
      throw std::invalid_argument(fmt::format(
          "trial {} has {}, whose rates depend on the length of the run. It cannot continue to {} "
          "{}; train it from the start: thalweg rerun {} --set train.{}={}",
          trial, what, value, key, trial, key, value));
    train.set(key, value);
    row.hash =
        jobspec::configuration_hash(train, resources_from(nlohmann::json::parse(row.resources)));
    row.train = jobspec::record_text(train);
  }
  return trials;
}

}  // namespace thalweg::daemon
