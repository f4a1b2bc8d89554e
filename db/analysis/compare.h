// Which configuration gets there first, at what cost, and how sure that is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "db/store.h"

namespace thalweg::db::analysis {

/// Median over the seeds with its 95 % interval (interval.h); NaN where nothing is known. Infinity:
/// missed.
struct Estimate {
  double median, low, high;
  Estimate();  ///< all NaN
};

/// What it took to reach the target. A trial that has not reached it counts as infinity, so the
/// median is finite only where more than half of the trials reached it.
struct ToTarget : Estimate {
  std::int64_t reached = 0;
};

struct ComparisonRow {
  std::int64_t rank = 0;                                      ///< from 1
  std::vector<std::pair<std::string, jobspec::Value>> group;  ///< in the order of `by`
  std::int64_t n = 0, finished = 0, failed = 0;               ///< trials
  Estimate best;               ///< best value of the metric in each trial
  ToTarget steps_to_target;    ///< optimizer steps
  ToTarget seconds_to_target;  ///< training time, earlier attempts' included, waiting in queues not
  ToTarget node_seconds_to_target;
  Estimate node_seconds;  ///< spent on the whole trial, failed attempts included
  double samples_per_s;   ///< median over trials of perf/samples_per_s; NaN where unknown
  std::vector<Id> trials;
  std::string verdict;      ///< against the first row: "best", "no clear difference (...)", "worse
                            ///< (...)", "too few seeds (...)"
  std::optional<double> p;  ///< of the verdict's test, corrected for the number of rows

  ComparisonRow();
};

enum class RankBy {
  automatic,  ///< steps to target (seconds where rows differ in batch size or resources); best
              ///< where no row reached it
  best,
  steps,
  seconds,
  cost
};

struct CompareOptions {
  std::vector<std::string> by;   ///< empty: every parameter that takes more than one value
  std::string metric;            ///< empty: the sweep's own
  std::optional<double> target;  ///< empty: the sweep's own, where the metric is the sweep's own
  RankBy rank_by = RankBy::automatic;
};

struct Comparison {
  std::int64_t sweep = 0;
  std::string metric, goal;  ///< goal: "minimize" | "maximize"
  std::optional<double> target;
  std::vector<std::string> by;
  std::vector<ComparisonRow> rows;  ///< best first
  std::vector<std::string>
      notes;  ///< what the reader must know: ranked by what, single runs, trials still running
};

/// Throws std::invalid_argument for a sweep, parameter or metric that is not there (with the
/// nearest name), db::Error where the database fails.
Comparison compare(Store& store, std::int64_t sweep, const CompareOptions& options = {});

}  // namespace thalweg::db::analysis
