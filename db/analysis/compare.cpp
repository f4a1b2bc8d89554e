#include "db/analysis/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>

#include "db/analysis/added_seeds.h"
#include "db/analysis/bootstrap.h"
#include "db/analysis/names.h"
#include "db/analysis/notes.h"
#include "db/analysis/records.h"
#include "db/analysis/seed_looks.h"
#include "db/analysis/study_rows.h"
#include "db/analysis/tuning.h"
#include "db/analysis/units.h"
#include "db/analysis/verdict.h"
#include "jobspec/advise/formulas.h"
#include "jobspec/metric_names.h"
#include "jobspec/metrics.h"
#include "jobspec/search/search.h"
#include "jobspec/value.h"

namespace thalweg::db::analysis {
namespace {

std::size_t place_of(const std::vector<std::string>& names, const std::string& name) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

ToTarget to_target(const UnitRow& row, const Number& number, Statistic statistic) {
  ToTarget result{estimate(statistic, values_of(row.units, number))};
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
    row.ended_early += trial->ended_early ? 1 : 0;
  }
  count(units, ranked_by, row);
  const Statistic statistic = comparison.statistic;
  const auto to = [&](const Number& number) { return to_target(units, number, statistic); };
  row.best = estimate(statistic, values_of(units.units, &TrialRecord::best),
                      comparison.goal == Goal::maximize);
  row.steps_to_target = to(&TrialRecord::steps);
  row.samples_to_target = to(&TrialRecord::samples);
  row.seconds_to_target = to(&TrialRecord::seconds);
  row.node_seconds_to_target = to(&TrialRecord::node_seconds_to_target);
  row.money_to_target = to(&TrialRecord::money_to_target);
  for (std::size_t i = 0; i < comparison.other_targets.size(); ++i) {
    const auto of = [i](double Reached::*what) {
      return Number([i, what](const TrialRecord& trial) { return trial.other_targets[i].*what; });
    };
    row.other_targets.push_back({comparison.other_targets[i], to(of(&Reached::steps)),
                                 to(of(&Reached::samples)), to(of(&Reached::seconds)),
                                 to(of(&Reached::node_seconds)), to(of(&Reached::money))});
  }
  row.node_seconds = estimate(statistic, values_of(units.units, &TrialRecord::node_seconds));
  row.money = estimate(statistic, values_of(units.units, &TrialRecord::money));
  row.samples_per_s =
      point_estimate(statistic, values_of(units.units, &TrialRecord::samples_per_s), true);
  return row;
}

RankBy decide(const CompareOptions& options, const Comparison& comparison,
              const std::vector<TrialRecord>& records) {
  if (options.rank_by == RankBy::last) return RankBy::last;
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
    {RankBy::last, "last value", &TrialRecord::best},
    {RankBy::steps, "steps to target", &TrialRecord::steps},
    {RankBy::samples, "samples to target", &TrialRecord::samples},
    {RankBy::seconds, "seconds to target", &TrialRecord::seconds},
    {RankBy::cost, "node-seconds to target", &TrialRecord::node_seconds_to_target},
    {RankBy::money, "money to target", &TrialRecord::money_to_target},
};

const Ranking& ranking_of(RankBy by) {
  return *std::find_if(std::begin(kRankings), std::end(kRankings),
                       [&](const Ranking& ranking) { return ranking.by == by; });
}

/// What times to targets can leave out, and where it is counted.
constexpr std::pair<const char*, const char*> kLeftOut[] = {
    {"validation", jobspec::metric::validation_s},
    {"checkpoints", jobspec::metric::checkpoint_s},
    {"startup", jobspec::metric::startup_s}};

/// The metrics of the parts. Throws std::invalid_argument for one that cannot be left out.
std::vector<std::string> left_out_metrics(const std::vector<std::string>& without) {
  std::vector<std::string> metrics;
  for (const std::string& part : without) {
    const auto found = std::find_if(std::begin(kLeftOut), std::end(kLeftOut),
                                    [&](const auto& known) { return part == known.first; });
    if (found == std::end(kLeftOut))
      throw std::invalid_argument(
          "'" + part + "' cannot be left out of times; validation, checkpoints and startup can");
    metrics.emplace_back(found->second);
  }
  return metrics;
}

SweepRow existing_sweep(ReadStore& store, std::int64_t id) {
  const auto sweep = store.sweep(id);
  if (!sweep) throw std::invalid_argument(fmt::format("there is no sweep {}", id));
  return *sweep;
}

/// The first sweep decides; what the others would have said is noted.
void note_other_sweeps(ReadStore& store, Comparison& comparison) {
  for (std::size_t i = 1; i < comparison.sweeps.size(); ++i) {
    const SweepRow other = existing_sweep(store, comparison.sweeps[i]);
    if (other.metric != comparison.metric)
      comparison.notes.push_back(
          fmt::format("sweep {} has the metric {} of its own: {} is compared", comparison.sweeps[i],
                      other.metric, comparison.metric));
    else if (comparison.target && other.target != comparison.target)
      comparison.notes.push_back(fmt::format(
          "sweep {} has {}: {} counts for all (trials that stop at a target may end before it)",
          comparison.sweeps[i],
          other.target ? fmt::format("the target {}", *other.target) : "no target",
          *comparison.target));
  }
}

/// Sweeps, metric, goal, target and parameters, checked.
Comparison resolve(ReadStore& store, const std::vector<std::int64_t>& ids,
                   const CompareOptions& options, const ParameterNames& names) {
  const std::optional<SweepRow> sweep = existing_sweep(store, ids.at(0));
  Comparison comparison;
  comparison.sweeps = ids;
  comparison.statistic = options.statistic;
  const bool own = options.metric.empty() || options.metric == sweep->metric;
  comparison.metric = own ? sweep->metric : options.metric;
  const auto by_name = [&] {
    return jobspec::goal_by_name(comparison.metric).value_or(Goal::minimize);
  };
  comparison.goal = options.goal ? *options.goal : own ? sweep->goal : by_name();
  comparison.target = options.target ? options.target : own ? sweep->target : std::nullopt;
  if (own)
    for (const double target : sweep->targets)
      if (target != comparison.target) comparison.other_targets.push_back(target);
  if (!own) {
    check_metric(store, ids, comparison.metric);
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
      throw std::invalid_argument(fmt::format(
          "{} does not vary '{}': there is no best value to choose", sweeps_text(ids), name));
    if (place_of(comparison.by, name) < comparison.by.size())
      throw std::invalid_argument("'" + name + "' cannot both make the rows and be chosen in them");
  }
  if (options.by.empty()) comparison.by = names.varied_but(comparison.best_over);
  if (comparison.by.empty() && ids.size() > 1 && comparison.best_over.empty())
    comparison.by = {sweep_name};
  note_other_sweeps(store, comparison);
  return comparison;
}

/// Of several sweeps: trials that agree in everything that varies are of one configuration. A seed
/// that a configuration has in several sweeps counts once, as the newest of them that has data: a
/// repetition is no new experiment.
void join_configurations(std::vector<TrialRecord>& records, Comparison& comparison) {
  std::map<std::string, std::int64_t> configurations;
  std::map<std::pair<std::int64_t, std::uint64_t>, std::size_t> runs;
  std::vector<TrialRecord> kept;
  for (TrialRecord& record : records) {
    jobspec::List values = record.group;
    values.insert(values.end(), record.others.begin(), record.others.end());
    const auto number = static_cast<std::int64_t>(configurations.size()) + 1;
    record.configuration =
        configurations.try_emplace(jobspec::Value(values).canonical(), number).first->second;
    const std::pair run{record.configuration, record.seed};
    const auto [found, fresh] = runs.try_emplace(run, kept.size());
    if (fresh || kept[found->second].id.sweep == record.id.sweep) {
      kept.push_back(std::move(record));
    } else if (!std::isnan(record.best) || std::isnan(kept[found->second].best)) {
      kept[found->second] = std::move(record);
    }
  }
  if (kept.size() < records.size())
    comparison.notes.push_back(fmt::format(
        "{} of a configuration and a seed that another sweep repeats: the newest run "
        "of each counts",
        records.size() - kept.size() == 1
            ? "1 trial is left out that is"
            : fmt::format("{} trials are left out that are", records.size() - kept.size())));
  records = std::move(kept);
}

/// Throws std::invalid_argument where rows are to be ranked by money that is not known.
void check_prices(const CompareOptions& options, Comparison& comparison) {
  std::vector<std::int64_t> unknown;
  for (const std::int64_t sweep : comparison.sweeps)
    if (!options.prices.contains(sweep)) unknown.push_back(sweep);
  if (options.rank_by == RankBy::money && unknown.size() == comparison.sweeps.size())
    throw std::invalid_argument(
        "what a node-hour costs is not known: set prices.node_hour or prices.partitions in "
        "config.yaml");
  if (!unknown.empty() && unknown.size() < comparison.sweeps.size())
    comparison.notes.push_back(
        fmt::format("money without {}, whose price is not known", sweeps_text(unknown)));
}

std::vector<std::pair<Id, std::string>> all_emulated(ReadStore& store,
                                                     const std::vector<std::int64_t>& sweeps) {
  std::vector<std::pair<Id, std::string>> trials;
  for (const std::int64_t sweep : sweeps)
    for (auto& trial : emulated_trials(store, sweep))
      trials.push_back(std::move(trial));
  return trials;
}

/// What the sweeps' files say of their search.
struct Searched {
  std::string by_results;  ///< the first method that draws by what came of earlier trials
  bool pauses = false;     ///< trials of the first sweep do, at rungs
  std::map<std::int64_t, std::int64_t> generations;  ///< sweep -> configurations of one
  bool earlier_left_out = false;                     ///< trials of an earlier generation
  Studies studies;
};

Searched searched(ReadStore& store, const std::vector<std::int64_t>& sweeps) {
  Searched result;
  for (const std::int64_t id : sweeps) {
    const SweepRow sweep = existing_sweep(store, id);
    try {
      const jobspec::Value file = jobspec::read_yaml(sweep.text, sweep.file_name);
      if (id == sweeps.front()) result.pauses = jobspec::promotes(file);
      const auto* method = jobspec::learning_method(file);
      if (method && result.by_results.empty()) result.by_results = method->name;
      if (const auto size = jobspec::generation_size(file)) result.generations[id] = *size;
      if (const auto seeds = jobspec::study_seeds(file)) result.studies.emplace(id, *seeds);
    } catch (const std::exception&) {
      // An import has other files.
    }
  }
  return result;
}

/// Trials of earlier generations are the beginnings of those of the newest one that has a value.
/// True: some were left out.
bool keep_newest_generation(std::vector<TrialRecord>& records, const Searched& search) {
  std::map<std::int64_t, std::int64_t> newest;
  const auto generation = [&](const TrialRecord& record) {
    const auto size = search.generations.find(record.id.sweep);
    return size == search.generations.end() ? 0 : (record.id.trial - 1) / size->second;
  };
  for (const TrialRecord& record : records)
    if (!std::isnan(record.best))
      newest[record.id.sweep] = std::max(newest[record.id.sweep], generation(record));
  return std::erase_if(records, [&](const TrialRecord& record) {
           return generation(record) < newest[record.id.sweep];
         }) > 0;
}

/// Of all the sweeps, each trial with what was asked for.
std::vector<TrialRecord> read_all(ReadStore& store, const Wanted& wanted,
                                  const std::map<std::int64_t, double>& prices, Searched& search,
                                  Comparison& comparison) {
  std::vector<TrialRecord> records;
  for (const std::int64_t sweep : comparison.sweeps) {
    Wanted of_sweep = wanted;
    of_sweep.sweep = sweep;
    if (const auto price = prices.find(sweep); price != prices.end())
      of_sweep.price = price->second;
    auto more = read_records(store, of_sweep);
    std::move(more.begin(), more.end(), std::back_inserter(records));
  }
  search.earlier_left_out = keep_newest_generation(records, search);
  if (comparison.sweeps.size() > 1) join_configurations(records, comparison);
  return records;
}

/// Median over the trials that told it; 0: none has.
double startup_of(ReadStore& store, const std::vector<std::int64_t>& sweeps) {
  std::vector<double> values;
  for (const std::int64_t sweep : sweeps)
    for (const ReadStore::Latest& latest : store.latest(sweep, jobspec::metric::startup_s))
      values.push_back(latest.value);
  return values.empty() ? 0 : median(std::move(values));
}

/// Whether the two rows that are there first differ by less than a start takes, and it is a
/// twentieth of their time or more: then it may decide between them.
bool startup_decides(const std::vector<TrialRecord>& records, double startup) {
  constexpr double part = 0.05;
  std::map<std::string, std::vector<double>> by_row;
  for (const TrialRecord& record : records)
    if (std::isfinite(record.seconds))
      by_row[jobspec::Value(record.group).canonical()].push_back(record.seconds);
  std::vector<double> rows;
  for (auto& [group, seconds] : by_row)
    rows.push_back(median(std::move(seconds)));
  if (rows.size() < 2) return false;
  std::sort(rows.begin(), rows.end());
  return rows[1] - rows[0] < startup && startup >= part * rows[0];
}

/// Null is a value, too: apart from it, what no trial of the row has.
void find_absent(ReadStore& store, std::vector<ComparisonRow>& rows) {
  Presence presence(store);
  for (ComparisonRow& row : rows)
    for (const auto* parts : {&row.group, &row.chosen})
      for (const auto& [name, value] : *parts)
        if (value.is_null() && !presence.any_has(row.trials, name)) row.absent.push_back(name);
}

/// Of runs of other programs: "imported" in place of a backend.
bool any_imported(ReadStore& store, const std::vector<std::int64_t>& sweeps) {
  return std::any_of(sweeps.begin(), sweeps.end(), [&](std::int64_t sweep) {
    return existing_sweep(store, sweep).backend == "imported";
  });
}

/// Where start-up may decide who is first to the target, times are read again without it.
void leave_out_startup(ReadStore& store, const CompareOptions& options, Wanted wanted,
                       Searched& search, std::vector<TrialRecord>& records,
                       Comparison& comparison) {
  const std::string startup_s = jobspec::metric::startup_s;
  auto& left_out = wanted.left_out;
  if (decide(options, comparison, records) != RankBy::seconds ||
      std::find(left_out.begin(), left_out.end(), startup_s) != left_out.end())
    return;
  const double startup = startup_of(store, comparison.sweeps);
  if (!startup_decides(records, startup)) return;
  left_out.push_back(startup_s);
  Comparison again = comparison;  // its notes have been written
  records = read_all(store, wanted, options.prices, search, again);
  comparison.notes.push_back(fmt::format(
      "the first rows differ by less than a start takes ({:.2g} s): seconds and node-seconds to "
      "targets are without it",
      startup));
}

}  // namespace

Comparison compare(ReadStore& store, const std::vector<std::int64_t>& sweeps,
                   const CompareOptions& asked) {
  Searched search = searched(store, sweeps);
  const Studies& studies = search.studies;
  const CompareOptions options = for_studies(asked, studies, sweeps);
  const ParameterNames names(store, sweeps);
  Comparison comparison = resolve(store, sweeps, options, names);
  const bool maximize = comparison.goal == Goal::maximize;
  Wanted wanted{sweeps.front(),
                comparison.by,
                names.varied_but(comparison.by),
                comparison.metric,
                maximize,
                comparison.target,
                comparison.other_targets,
                left_out_metrics(options.without),
                {}};
  wanted.newest = options.rank_by == RankBy::last;
  check_prices(options, comparison);
  if (!wanted.left_out.empty())
    comparison.notes.push_back(fmt::format("seconds and node-seconds to targets without {}",
                                           fmt::join(options.without, ", ")));
  auto records = read_all(store, wanted, options.prices, search, comparison);
  leave_out_startup(store, options, wanted, search, records, comparison);
  const std::vector<TrialRecord> draws = take_draws(records, studies);
  const Ranking& ranking = ranking_of(decide(options, comparison, records));

  BestOver best_over{{}, ranking.member, &TrialRecord::best, maximize};
  for (const std::string& name : comparison.best_over)
    best_over.others.push_back(place_of(wanted.others, name));
  const bool choosing = !best_over.others.empty();
  const bool renumbered = choosing && align_seeds(records);
  if (renumbered)
    comparison.notes.push_back(
        "no two rows have a seed in common: the seeds of each are numbered from 1, by their order");
  const Looks looks = all_looks(store, sweeps);
  const bool at_looks =
      !looks.empty() && sweeps.size() == 1 && !choosing && units_of(records).by_seeds;
  if (!at_looks) keep_first_seeds(looks, records, comparison);
  UnitTable table = choosing ? at_best(records, best_over) : units_of(records);
  comparison.unit = table.by_seeds ? "seed" : "configuration";
  comparison.choosing = best_over.choosing;
  comparison.judging = best_over.judging;
  if (!studies.empty()) tell_choices(draws, wanted.others, table, comparison);

  std::vector<Contender> contenders;
  for (const UnitRow& row : table.rows) {
    Contender contender{summarize(row, comparison, ranking.member),
                        scores_of(row, ranking.member, maximize)};
    for (const Score& score : scores_of(row, &TrialRecord::best, maximize))
      contender.tie_breaks.push_back(score.value);
    contenders.push_back(std::move(contender));
  }
  order(contenders, options.statistic);
  if (at_looks && ranking.by == RankBy::best && options.metric.empty())
    put_closed_last(looks.begin()->second, records, contenders);
  Tested tested;
  // Only the values that were compared had their own choice.
  if (!studies.empty() && comparison.by != std::vector{compared_by(studies, sweeps)})
    search.by_results = "study";
  Untested untested = why_untested(table, choosing ? &best_over : nullptr, options.statistic,
                                   !search.by_results.empty(), wanted.newest);
  if (untested == Untested::no && search.by_results == "study") untested = Untested::by_results;
  if (untested == Untested::no && may_yet_reach(records, ranking) > 0)
    untested = Untested::unfinished;
  // Their seeds may be no more than the order in which they came, which may be that of their
  // values.
  const bool imported = any_imported(store, sweeps);
  if (untested == Untested::no && at_looks)
    tested = judge_at_looks(contenders, looks.begin()->second.plan, looks.begin()->second.taken);
  else if (untested == Untested::no)
    tested = judge(contenders, comparison.unit, !renumbered && !imported);
  else
    leave_unjudged(contenders, "not tested");
  // Where several studies were made their winners are the units: independent tunings, whose luck
  // the test itself sees.
  if (untested == Untested::no && !studies.empty() && table.by_seeds) {
    auto drawn = contenders_of_draws(draws, comparison, ranking.member);
    allow_for_tuning(contenders, drawn, tested);
  }
  std::int64_t added_late = 0;
  if (untested == Untested::no && sweeps.size() == 1 && table.by_seeds && !at_looks)
    added_late = added_after_enough(
        store, sweeps.front(), records,
        jobspec::advise::seeds_for_verdict(static_cast<std::int64_t>(contenders.size())));
  for (Contender& contender : contenders)
    comparison.rows.push_back(std::move(contender.row));
  say_failed(comparison.rows);
  find_absent(store, comparison.rows);
  // One sweep, of a file that gives more trials where its `seeds` grow.
  const bool extensible = sweeps.size() == 1 && !imported && studies.empty() && looks.empty();
  write_notes(comparison, {records, table, wanted.others, ranking, tested, untested,
                           all_emulated(store, sweeps), extensible, extensible && search.pauses,
                           search.by_results, search.earlier_left_out, draws.size(),
                           studies.size() == 1 ? studies.begin()->second.final_seeds.size() : 0,
                           at_looks ? &looks.begin()->second : nullptr, added_late});
  comparison.rows_in_all = static_cast<std::int64_t>(comparison.rows.size());
  if (options.top > 0 && options.top < comparison.rows.size())
    comparison.rows.erase(comparison.rows.begin() + static_cast<std::ptrdiff_t>(options.top),
                          comparison.rows.end());
  return comparison;
}

}  // namespace thalweg::db::analysis
