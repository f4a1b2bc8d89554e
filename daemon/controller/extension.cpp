#include "daemon/controller/extension.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

namespace thalweg::daemon {

std::vector<jobspec::ExpandedTrial> missing_trials(const jobspec::Expansion& wanted,
                                                   const std::vector<db::TrialRow>& there) {
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
      "the changed file does not give trial {} any more{}: a sweep is extended by trials, those "
      "that are there stay as they are",
      first, not_found.size() > 1 ? fmt::format(" (nor {} others)", not_found.size() - 1) : ""));
}

}  // namespace thalweg::daemon
