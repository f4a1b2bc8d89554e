// What comparisons and studies need to know of each trial, read from the record. All queries of a
// comparison stand here.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "db/analysis/parameters.h"
#include "db/store.h"

namespace thalweg::db::analysis {

/// What it took to reach a target: NaN where unknown, infinite where the trial has ended (or
/// diverged) and did not get there.
struct Reached {
  double steps = std::numeric_limits<double>::quiet_NaN();
  double samples = steps;  ///< those trained on; NaN where the batch is not known
  double seconds = steps, node_seconds = steps;
  double money = steps;  ///< where the sweep has a price
};

struct TrialRecord {
  Id id;
  TrialPhase state = TrialPhase::pending;
  std::int64_t configuration = 0;  ///< trials that differ only by seed share it
  std::uint64_t seed = 0;
  /// One value per name in `by` and in `others`; null where the trial has no such parameter.
  std::vector<jobspec::Value> group, others;
  /// All NaN where unknown; the four to-target ones infinite where the trial has ended and did not
  /// get there. Of a trial that has diverged (jobspec/trial.h) `best` is the infinity that is worse
  /// than any value, and no target counts as reached.
  double best = std::numeric_limits<double>::quiet_NaN();
  double steps = best, samples = best, seconds = best, node_seconds_to_target = best;
  double node_seconds = best;
  double money_to_target = best, money = best;  ///< the node-seconds at the sweep's price
  double global_batch = best;                   ///< read only where there is a target
  bool batch_grows = false;                     ///< from global_batch on; the same
  double samples_per_s = best;
  /// Values of the metric, and the steps from one to the next: where the first is as far from step
  /// 0, and where it is at step 0 (W&B counts so). NaN without a value, the latter with one, too.
  double looks = best, steps_per_look = best, steps_per_next_look = best;
  bool diverged = false;
  bool ended_early = false;  ///< by the sweep's early_terminate: what it would have reached is not
                             ///< known
  std::vector<Reached> other_targets;  ///< in the order of Wanted::other_targets

  bool ended() const { return is_over(state); }
};

struct Wanted {
  std::int64_t sweep = 0;
  std::vector<std::string> by, others;
  std::string metric;
  bool maximize = false;
  std::optional<double> target;
  std::vector<double> other_targets{};
  /// Metrics of seconds (perf/validation_s) that times to targets leave out.
  std::vector<std::string> left_out{};
  std::optional<double> price{};  ///< of an hour of a node
  bool newest = false;            ///< TrialRecord::best is the newest value
};

/// In order of trial number.
std::vector<TrialRecord> read_records(ReadStore& store, const Wanted& wanted);

/// The same without rates and what depends on parameters, quick also of long curves: for who asks
/// while others wait.
std::vector<TrialRecord> read_bests(ReadStore& store, std::int64_t sweep, const std::string& metric,
                                    bool maximize);

/// Of what a trial reported of the metric; NaN where that is nothing.
double median_of_curve(ReadStore& store, const Id& trial, const std::string& metric);

/// The values of a group, separated by ", ".
std::string group_name(const std::vector<jobspec::Value>& values);

/// As a name in `by` or `others`: the sweep's own number.
inline constexpr const char* sweep_name = "sweep";
/// Where a study has no number to give.
inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// Of a few sweeps: what their `train` trees give different single values for, by the first trial
/// of each.
std::vector<std::string> differing_parameters(ReadStore& store,
                                              const std::vector<std::int64_t>& sweeps);

/// Trials of which an attempt ran on emulated ranks or links, and what was emulated.
std::vector<std::pair<Id, std::string>> emulated_trials(ReadStore& store, std::int64_t sweep);
/// What a statistic over times says of such a trial.
std::string emulated_note(const Id& trial, const std::string& what);

/// May `by` hold this name?
bool has_hyperparameter(ReadStore& store, std::int64_t sweep, const std::string& name);

/// Every name that `by` may hold; slow on large sweeps, for messages.
std::vector<std::string> all_hyperparameters(ReadStore& store, std::int64_t sweep);

}  // namespace thalweg::db::analysis
