#include "db/analysis/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include "db/analysis/bootstrap.h"
#include "db/analysis/names.h"
#include "db/analysis/notes.h"
#include "db/analysis/records.h"
#include "db/analysis/units.h"
#include "db/analysis/verdict.h"
#include "jobspec/metric_names.h"
#include "jobspec/metrics.h"

namespace thalweg::db::analysis {
namespace {

std::size_t place_of(const std::vector<std::string>& names, const std::string& name) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

ToTarget to_target(const UnitRow& row, const Number& number) {
  ToTarget result{bootstrap_median(values_of(row.units, number))};
  for (const Unit& unit : row.units) {
    result.reached +=
        std::count_if(unit.trials.begin(), unit.trials.end(),
                      [&](const TrialRecord* trial) { return std::isfinite(number(*trial)); });
  }
  return result;
}

/// What it is ranked by, and how many have it.
void count(const UnitRow& units, Member ranked_by, ComparisonRow& row) {
  std::set<std::int64_t> configurations;
  for (const Unit& unit : units.units) {
    const auto before = row.trials_used;
    for (const TrialRecord* trial : unit.trials) {
      if (std::isnan(trial->*ranked_by)) continue;
      ++row.trials_used;
      configurations.insert(trial->configuration);
    }
    row.n += row.trials_used > before ? 1 : 0;
  }
  row.configurations = static_cast<std::int64_t>(configurations.size());
}

ComparisonRow summarize(const UnitRow& units, const Comparison& comparison, Member ranked_by) {
  ComparisonRow row;
  for (std::size_t i = 0; i < comparison.by.size(); ++i)
    row.group.emplace_back(comparison.by[i], units.group[i]);
  if (units.choice) {
    for (std::size_t i = 0; i < comparison.best_over.size(); ++i)
      row.chosen.emplace_back(comparison.best_over[i], units.choice->values[i]);
    row.choices = static_cast<std::int64_t>(units.choice->among);
  }
  for (const TrialRecord* trial : units.trials) {
    row.trials.push_back(trial->id);
    row.finished += trial->state == TrialPhase::finished ? 1 : 0;
    row.failed += trial->state == TrialPhase::failed ? 1 : 0;
  }
  count(units, ranked_by, row);
  row.best = bootstrap_median(values_of(units.units, &TrialRecord::best));
  row.steps_to_target = to_target(units, &TrialRecord::steps);
  row.samples_to_target = to_target(units, &TrialRecord::samples);
  row.seconds_to_target = to_target(units, &TrialRecord::seconds);
  row.node_seconds_to_target = to_target(units, &TrialRecord::node_seconds_to_target);
  for (std::size_t i = 0; i < comparison.other_targets.size(); ++i) {
    const auto of = [i](double Reached::*what) {
      return Number([i, what](const TrialRecord& trial) { return trial.other_targets[i].*what; });
    };
    row.other_targets.push_back({comparison.other_targets[i], to_target(units, of(&Reached::steps)),
                                 to_target(units, of(&Reached::samples)),
                                 to_target(units, of(&Reached::seconds)),
                                 to_target(units, of(&Reached::node_seconds))});
  }
  row.node_seconds = bootstrap_median(values_of(units.units, &TrialRecord::node_seconds));
  row.samples_per_s = median(values_of(units.units, &TrialRecord::samples_per_s));
  return row;
}

RankBy decide(const CompareOptions& options, const Comparison& comparison,
              const std::vector<TrialRecord>& records) {
  const bool reached = std::any_of(records.begin(), records.end(), [](const TrialRecord& record) {
    return std::isfinite(record.steps);
  });
  if (!reached) return RankBy::best;
  if (options.rank_by != RankBy::automatic) return options.rank_by;
  // A step of a larger batch, or on more nodes, is not the same work.
  const bool unlike =
      std::any_of(comparison.by.begin(), comparison.by.end(), [](const std::string& name) {
        return name.starts_with("batch.") || name.starts_with("resources.");
      });
  return unlike ? RankBy::seconds : RankBy::steps;
}

constexpr Ranking kRankings[] = {
    {RankBy::best, "best value", &TrialRecord::best},
    {RankBy::steps, "steps to target", &TrialRecord::steps},
    {RankBy::samples, "samples to target", &TrialRecord::samples},
    {RankBy::seconds, "seconds to target", &TrialRecord::seconds},
    {RankBy::cost, "node-seconds to target", &TrialRecord::node_seconds_to_target},
};

const Ranking& ranking_of(RankBy by) {
  return *std::find_if(std::begin(kRankings), std::end(kRankings),
                       [&](const Ranking& ranking) { return ranking.by == by; });
}

/// What times to targets can leave out, and where it is counted.
constexpr std::pair<const char*, const char*> kLeftOut[] = {
    {"validation", jobspec::metric::validation_s}, {"checkpoints", jobspec::metric::checkpoint_s}};

/// The metrics of the parts. Throws std::invalid_argument for one that cannot be left out.
std::vector<std::string> left_out_metrics(const std::vector<std::string>& without) {
  std::vector<std::string> metrics;
  for (const std::string& part : without) {
    const auto found = std::find_if(std::begin(kLeftOut), std::end(kLeftOut),
                                    [&](const auto& known) { return part == known.first; });
    if (found == std::end(kLeftOut))
      throw std::invalid_argument("'" + part +
                                  "' cannot be left out of times; validation and checkpoints can");
    metrics.emplace_back(found->second);
  }
  return metrics;
}

/// Sweep, metric, goal, target and parameters, checked.
Comparison resolve(ReadStore& store, std::int64_t id, const CompareOptions& options,
                   const ParameterNames& names) {
  const auto sweep = store.sweep(id);
  if (!sweep) throw std::invalid_argument(fmt::format("there is no sweep {}", id));
  Comparison comparison;
  comparison.sweep = id;
  const bool own = options.metric.empty() || options.metric == sweep->metric;
  comparison.metric = own ? sweep->metric : options.metric;
  const auto by_name = [&] {
    return jobspec::larger_is_better(comparison.metric) ? Goal::maximize : Goal::minimize;
  };
  comparison.goal = options.goal ? *options.goal : own ? sweep->goal : by_name();
  comparison.target = options.target ? options.target : own ? sweep->target : std::nullopt;
  if (own)
    for (const double target : sweep->targets)
      if (target != comparison.target) comparison.other_targets.push_back(target);
  if (!own) {
    check_metric(store, id, comparison.metric);
    if (!options.goal) {
      const bool larger = comparison.goal == Goal::maximize;
      comparison.notes.push_back(fmt::format(
          "{} values of {} are taken to be better (--goal {} turns that round)",
          larger ? "larger" : "smaller", comparison.metric, larger ? "minimize" : "maximize"));
    }
  }
  comparison.best_over = names.all_of(options.best_over);
  comparison.by = names.all_of(options.by);
  for (const std::string& name : comparison.best_over) {
    if (!names.varies(name))
      throw std::invalid_argument(
          fmt::format("sweep {} does not vary '{}': there is no best value to choose", id, name));
    if (place_of(comparison.by, name) < comparison.by.size())
      throw std::invalid_argument("'" + name + "' cannot both make the rows and be chosen in them");
  }
  if (options.by.empty()) comparison.by = names.varied_but(comparison.best_over);
  return comparison;
}

}  // namespace

Comparison compare(ReadStore& store, std::int64_t sweep, const CompareOptions& options) {
  const ParameterNames names(store, sweep);
  Comparison comparison = resolve(store, sweep, options, names);
  const bool maximize = comparison.goal == Goal::maximize;
  const Wanted wanted{sweep,
                      comparison.by,
                      names.varied_but(comparison.by),
                      comparison.metric,
                      maximize,
                      comparison.target,
                      comparison.other_targets,
                      left_out_metrics(options.without)};
  if (!wanted.left_out.empty())
    comparison.notes.push_back(fmt::format("seconds and node-seconds to targets without {}",
                                           fmt::join(options.without, ", ")));
  const auto records = read_records(store, wanted);
  const Ranking& ranking = ranking_of(decide(options, comparison, records));

  BestOver best_over{{}, ranking.member, &TrialRecord::best, maximize};
  for (const std::string& name : comparison.best_over)
    best_over.others.push_back(place_of(wanted.others, name));
  const bool choosing = !best_over.others.empty();
  const UnitTable table = choosing ? at_best(records, best_over) : units_of(records);
  comparison.unit = table.by_seeds ? "seed" : "configuration";
  comparison.choosing = best_over.choosing;
  comparison.judging = best_over.judging;

  std::vector<Contender> contenders;
  for (const UnitRow& row : table.rows) {
    Contender contender{summarize(row, comparison, ranking.member),
                        scores_of(row, ranking.member, maximize)};
    for (const Score& score : scores_of(row, &TrialRecord::best, maximize))
      contender.tie_breaks.push_back(score.value);
    contenders.push_back(std::move(contender));
  }
  order(contenders);
  Tested tested;
  if (choosing && !best_over.divided()) {
    leave_unjudged(contenders, "not tested");
  } else {
    tested = judge(contenders, comparison.unit);
  }
  for (Contender& contender : contenders)
    comparison.rows.push_back(std::move(contender.row));
  write_notes(comparison,
              {records, table, wanted.others, ranking, tested, emulated_trials(store, sweep)});
  comparison.rows_in_all = static_cast<std::int64_t>(comparison.rows.size());
  if (options.top > 0 && options.top < comparison.rows.size())
    comparison.rows.erase(comparison.rows.begin() + static_cast<std::ptrdiff_t>(options.top),
                          comparison.rows.end());
  return comparison;
}

}  // namespace thalweg::db::analysis
