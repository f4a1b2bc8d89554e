// Which configuration gets there first, at what cost, and how sure that is.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "db/analysis/estimate.h"
#include "db/store.h"

namespace thalweg::db::analysis {

/// What it took to reach the target. A trial that has not reached it counts as infinity, so the
/// median is finite only where more than half of the trials did.
struct ToTarget : Estimate {
  std::int64_t reached = 0;  ///< trials that got there
};

struct ComparisonRow {
  std::int64_t rank = 0;                                      ///< from 1
  std::vector<std::pair<std::string, jobspec::Value>> group;  ///< in the order of `by`
  std::int64_t n = 0, finished = 0, failed = 0;               ///< trials
  Estimate best;               ///< best value of the metric in each trial
  ToTarget steps_to_target;    ///< optimizer steps
  ToTarget seconds_to_target;  ///< running time with earlier attempts', without waiting in queues
  ToTarget node_seconds_to_target;
  Estimate node_seconds;  ///< of the whole trial, failed attempts included
  double samples_per_s = std::numeric_limits<double>::quiet_NaN();  ///< median over the trials
  std::vector<Id> trials;
  /// "best", "no clear difference (...)", "worse (...)", "too few seeds (...)", "no data".
  std::string verdict;
  std::optional<double> p;  ///< of the verdict's test, corrected for the number of rows
};

enum class RankBy {
  /// Steps to target; seconds where `by` has batch or resources; best where no trial got there.
  automatic,
  best,
  steps,
  seconds,
  cost
};

struct CompareOptions {
  std::vector<std::string> by;      ///< empty: every parameter that takes more than one value
  std::string metric;               ///< empty: the sweep's own
  std::optional<double> target;     ///< empty: the sweep's own (for the sweep's own metric)
  std::optional<std::string> goal;  ///< empty: the sweep's own; "minimize" for another metric
  RankBy rank_by = RankBy::automatic;
};

struct Comparison {
  std::int64_t sweep = 0;
  std::string metric, goal;  ///< goal: "minimize" | "maximize"
  std::optional<double> target;
  std::vector<std::string> by;
  std::vector<ComparisonRow> rows;  ///< best first
  /// How it was ranked and tested, single runs, trials still running.
  std::vector<std::string> notes;
};

/// Throws std::invalid_argument for a sweep, parameter or metric that is not there (with the
/// nearest name), db::Error where the database fails.
Comparison compare(Store& store, std::int64_t sweep, const CompareOptions& options = {});

}  // namespace thalweg::db::analysis
