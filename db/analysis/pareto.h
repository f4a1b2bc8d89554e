// Time against cost: which configurations nobody beats in both.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "db/store.h"

namespace thalweg::db::analysis {

/// Whether no other point is as good in both and better in one; smaller is better. Points that are
/// not finite are never on it; of equal ones all are.
std::vector<bool> pareto_frontier(const std::vector<std::pair<double, double>>& points);

struct ParetoRow {
  std::int64_t sweep = 0;
  double target = 0;
  std::map<std::string, std::string> group;                   ///< values of the varied parameters
  double seconds = std::numeric_limits<double>::quiet_NaN();  ///< to the target, median over seeds
  double node_seconds = seconds;
  double money = seconds;           ///< where the sweep has a price
  std::int64_t n = 0, reached = 0;  ///< trials, and those that got there
  bool frontier = false;            ///< of its target
};

struct ParetoStudy {
  std::vector<std::int64_t> sweeps;
  std::string metric;
  std::vector<double> targets;
  std::vector<std::string> by;
  std::string cost;             ///< what time is weighed against: "node_seconds" or "money"
  std::vector<ParetoRow> rows;  ///< by target, then seconds; those that got there
  std::vector<std::string> notes;
};

struct ParetoOptions {
  std::optional<double> target;           ///< instead of the sweeps' own
  std::map<std::int64_t, double> prices;  ///< CompareOptions::prices
  bool money = false;                     ///< weigh time against money instead of node-seconds
};

/// One frontier for each target of the sweeps, which must have the same metric. Throws
/// std::invalid_argument where a sweep is not there, has no target, another metric or no price.
ParetoStudy study_pareto(ReadStore& store, const std::vector<std::int64_t>& sweeps,
                         const ParetoOptions& options = {});

}  // namespace thalweg::db::analysis
