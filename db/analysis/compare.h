// Which configuration gets there first, at what cost, and how sure that is. The unit of a
// comparison is the configuration: where a row holds several, each counts once, as the median over
// its seeds; seeds are units only where every row is a single configuration.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "db/analysis/estimate.h"
#include "db/analysis/statistic.h"
#include "db/store.h"

namespace thalweg::db::analysis {

using jobspec::Goal;

/// What it took to reach the target. A trial that has ended without counts as infinity, so the
/// median is finite only where more than half of the trials did (a mean: only where all did).
struct ToTarget : Estimate {
  std::int64_t reached = 0;  ///< trials that got there
};

/// The same of another target than the one that rows are ranked by.
struct OtherTarget {
  double target = 0;
  ToTarget steps, samples, seconds, node_seconds, money;
};

struct ComparisonRow {
  std::int64_t rank = 0;                                      ///< from 1
  std::vector<std::pair<std::string, jobspec::Value>> group;  ///< in the order of `by`
  /// What was chosen of the parameters in `best_over`, and among how many combinations; empty where
  /// none has data.
  std::vector<std::pair<std::string, jobspec::Value>> chosen;
  std::int64_t choices = 0;
  /// Of `group` and `chosen`, what is null since no trial of the row has it.
  std::vector<std::string> absent;
  std::int64_t n = 0;  ///< units that have a value of what rows are ranked by
  std::int64_t configurations = 0, trials_used = 0;  ///< configurations and trials that do
  std::int64_t finished = 0, failed = 0;             ///< trials
  std::int64_t ended_early = 0;                      ///< of those finished: by early_terminate
  /// Best value of the metric in each trial; the newest where rows are ranked by it.
  Estimate best;
  ToTarget steps_to_target;    ///< optimizer steps
  ToTarget samples_to_target;  ///< those trained on
  ToTarget seconds_to_target;  ///< running time with earlier attempts', without waiting in queues
  ToTarget node_seconds_to_target;
  ToTarget money_to_target;                ///< where the sweeps have prices
  std::vector<OtherTarget> other_targets;  ///< in the order of Comparison::other_targets
  Estimate node_seconds;                   ///< of the whole trial, failed attempts included
  Estimate money;                          ///< the same
  double samples_per_s = std::numeric_limits<double>::quiet_NaN();  ///< median over the units
  std::vector<Id> trials;
  /// "best", "best, 3 of 6 failed", "no clear difference (p=...)", "worse (p=...)", "different
  /// (p=...)", "3 seeds, 4 needed", "3 configurations, 6 needed", "not tested", "no data"
  /// (verdict.h).
  std::string verdict;
  std::optional<double> p;  ///< of the verdict's test, corrected for the number of pairs of rows
  /// How often a unit of this row is better than one of the first (improvement.h), not corrected;
  /// NaN for the first row, where nothing was tested, and of single units.
  Estimate improvement;
};

enum class RankBy {
  /// Steps to target; seconds where `by` has batch or resources; best where no trial got there.
  automatic,
  best,
  last,  ///< each trial's newest value, as W&B's summary has it
  steps,
  samples,
  seconds,
  cost,  ///< node-seconds
  money
};

struct CompareOptions {
  /// Names, or last parts of names that only one parameter has, or "sweep". Empty: every parameter
  /// that takes more than one value and is not in `best_over`; "sweep" where several sweeps have
  /// none.
  std::vector<std::string> by;
  /// Parameters of which each row keeps the best value only. Chosen on some seeds and evaluated on
  /// the others where there are enough of them; else on the same ones, and then nothing is tested.
  std::vector<std::string> best_over;
  std::string metric;            ///< empty: the sweep's own
  std::optional<double> target;  ///< empty: the sweep's own (for the sweep's own metric)
  /// What seconds and node-seconds to targets leave out: "validation", "checkpoints",
  /// "startup". Start-up is left out, too, where rows are ranked by seconds and it may decide.
  std::vector<std::string> without;
  std::optional<Goal> goal;  ///< empty: the sweep's own; by its name for another metric
  RankBy rank_by = RankBy::automatic;
  Statistic statistic = Statistic::median;  ///< of a row's units
  std::map<std::int64_t, double> prices;    ///< of an hour of a node, by sweep; none = not known
  std::size_t top = 0;                      ///< rows at most, of those that are compared; 0: all
};

struct Comparison {
  std::vector<std::int64_t> sweeps;
  std::string metric;
  Goal goal = Goal::minimize;
  std::optional<double> target;
  std::vector<double> other_targets;  ///< of the sweep, where its own metric is compared
  std::vector<std::string> by, best_over;
  std::string unit;                              ///< "seed" | "configuration"
  std::vector<std::uint64_t> choosing, judging;  ///< seeds, with `best_over`
  Statistic statistic = Statistic::median;
  std::int64_t rows_in_all = 0;
  std::vector<ComparisonRow> rows;  ///< best first
  /// How it was ranked and tested, single runs, trials still running.
  std::vector<std::string> notes;
};

/// Of several sweeps the first one gives metric, goal and targets, and trials that agree in all
/// that varies are one configuration, whichever sweep they are of. Throws std::invalid_argument for
/// a sweep, parameter or metric that is not there (with the nearest name), db::Error where the
/// database fails.
Comparison compare(ReadStore& store, const std::vector<std::int64_t>& sweeps,
                   const CompareOptions& options = {});
inline Comparison compare(ReadStore& store, std::int64_t sweep,
                          const CompareOptions& options = {}) {
  return compare(store, std::vector<std::int64_t>{sweep}, options);
}

}  // namespace thalweg::db::analysis
