#include "db/analysis/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "db/analysis/bootstrap.h"
#include "db/analysis/records.h"
#include "db/analysis/verdict.h"

namespace thalweg::db::analysis {
namespace {

using Group = std::vector<const TrialRecord*>;
using Member = double TrialRecord::*;

std::vector<double> column(const Group& group, Member member) {
  std::vector<double> values;
  for (const TrialRecord* record : group) {
    if (!std::isnan(record->*member)) values.push_back(record->*member);
  }
  return values;
}

ToTarget to_target(const Group& group, Member member) {
  const std::vector<double> values = column(group, member);
  ToTarget result{bootstrap_median(values)};
  result.reached = std::count_if(values.begin(), values.end(),
                                 [](double value) { return std::isfinite(value); });
  return result;
}

ComparisonRow summarize(const Group& group, const Comparison& comparison) {
  ComparisonRow row;
  for (std::size_t i = 0; i < comparison.by.size(); ++i) {
    row.group.emplace_back(comparison.by[i], group.front()->group[i]);
  }
  row.n = static_cast<std::int64_t>(group.size());
  for (const TrialRecord* record : group) {
    row.trials.push_back(record->id);
    row.finished += record->state == "finished" ? 1 : 0;
    row.failed += record->state == "failed" ? 1 : 0;
  }
  row.best = bootstrap_median(column(group, &TrialRecord::best));
  row.steps_to_target = to_target(group, &TrialRecord::steps);
  row.seconds_to_target = to_target(group, &TrialRecord::seconds);
  row.node_seconds_to_target = to_target(group, &TrialRecord::node_seconds_to_target);
  row.node_seconds = bootstrap_median(column(group, &TrialRecord::node_seconds));
  row.samples_per_s = median(column(group, &TrialRecord::samples_per_s));
  return row;
}

/// Groups in the order of their first trial.
std::vector<Group> group_up(const std::vector<TrialRecord>& records) {
  std::vector<Group> groups;
  std::map<std::string, std::size_t> index;
  for (const TrialRecord& record : records) {
    const std::string name = jobspec::Value(jobspec::List(record.group)).canonical();
    const auto [found, fresh] = index.try_emplace(name, groups.size());
    if (fresh) groups.emplace_back();
    groups[found->second].push_back(&record);
  }
  return groups;
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

struct Ranking {
  RankBy by;
  const char* words;
  Member member;
};

constexpr Ranking kRankings[] = {
    {RankBy::best, "best value", &TrialRecord::best},
    {RankBy::steps, "steps to target", &TrialRecord::steps},
    {RankBy::seconds, "seconds to target", &TrialRecord::seconds},
    {RankBy::cost, "node-seconds to target", &TrialRecord::node_seconds_to_target},
};

const Ranking& ranking_of(RankBy by) {
  return *std::find_if(std::begin(kRankings), std::end(kRankings),
                       [&](const Ranking& ranking) { return ranking.by == by; });
}

std::vector<double> scores(const Group& group, Member member, bool maximize) {
  std::vector<double> values = column(group, member);
  if (maximize && member == &TrialRecord::best) {
    for (double& value : values)
      value = -value;
  }
  return values;
}

std::string trials(std::int64_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

void write_notes(Comparison& comparison, const std::vector<TrialRecord>& records,
                 const Ranking& ranking) {
  auto& notes = comparison.notes;
  notes.push_back(fmt::format("ranked by the median {}{} of {}", ranking.words,
                              comparison.target && ranking.by != RankBy::best
                                  ? fmt::format(" {}", *comparison.target)
                                  : std::string(),
                              comparison.metric));
  if (comparison.target && ranking.by == RankBy::best) {
    notes.push_back(fmt::format("no trial has reached the target {} yet", *comparison.target));
  }
  const auto tested = std::count_if(comparison.rows.begin(), comparison.rows.end(),
                                    [](const ComparisonRow& row) { return row.p.has_value(); });
  if (tested > 0) {
    notes.push_back(fmt::format(
        "verdicts: exact two-sided rank-sum test on {} against the first row, p <= 0.05 after "
        "Holm's correction for {}; intervals: 95 % bootstrap of the median",
        ranking.words, trials(tested, "test", "tests")));
  }
  const auto single = std::count_if(comparison.rows.begin(), comparison.rows.end(),
                                    [](const ComparisonRow& row) { return row.n == 1; });
  if (single > 0) {
    notes.push_back(fmt::format(
        "{} a single run: what sets it apart may be nothing but its seed (add `seeds: 5`)",
        trials(single, "row is", "rows are each")));
  }
  const auto open = std::count_if(records.begin(), records.end(),
                                  [](const TrialRecord& record) { return !record.ended(); });
  if (open > 0) {
    notes.push_back(fmt::format("{} not ended: the numbers will change",
                                trials(open, "trial has", "trials have")));
  }
  const auto lost = std::count_if(records.begin(), records.end(), [](const TrialRecord& record) {
    return record.ended() && std::isnan(record.best);
  });
  if (lost > 0) {
    notes.push_back(fmt::format("{} without any value of {}: left out of `best`{}",
                                trials(lost, "trial ended", "trials ended"), comparison.metric,
                                comparison.target ? "; failed ones count as target missed" : ""));
  }
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& names) {
  const std::string near = jobspec::nearest(word, names);
  return near.empty() ? "" : "; did you mean '" + near + "'?";
}

/// Sweep, metric, goal, target and `by`, checked.
Comparison resolve(Store& store, std::int64_t id, const CompareOptions& options) {
  const auto sweep = store.sweep(id);
  if (!sweep) throw std::invalid_argument(fmt::format("there is no sweep {}", id));
  Comparison comparison;
  comparison.sweep = id;
  const bool own = options.metric.empty() || options.metric == sweep->metric;
  comparison.metric = own ? sweep->metric : options.metric;
  comparison.goal = options.goal.value_or(own ? sweep->goal : "minimize");
  if (comparison.goal != "minimize" && comparison.goal != "maximize") {
    throw std::invalid_argument("goal is '" + comparison.goal +
                                "': expected 'minimize' or 'maximize'");
  }
  comparison.target = options.target ? options.target : own ? sweep->target : std::nullopt;
  if (!own) {
    const auto names = store.metric_names(id);
    if (std::find(names.begin(), names.end(), comparison.metric) == names.end()) {
      throw std::invalid_argument(fmt::format("sweep {} has no metric '{}'{}", id,
                                              comparison.metric,
                                              did_you_mean(comparison.metric, names)));
    }
    if (!options.goal) {
      comparison.notes.push_back("smaller values of " + comparison.metric +
                                 " are taken to be better");
    }
  }
  comparison.by = options.by.empty() ? varied_parameters(store, id) : options.by;
  for (const std::string& name : options.by) {
    if (has_hyperparameter(store, id, name)) continue;
    throw std::invalid_argument(fmt::format("sweep {} has no parameter '{}'{}", id, name,
                                            did_you_mean(name, all_hyperparameters(store, id))));
  }
  return comparison;
}

}  // namespace

Comparison compare(Store& store, std::int64_t sweep, const CompareOptions& options) {
  Comparison comparison = resolve(store, sweep, options);
  const bool maximize = comparison.goal == "maximize";
  const auto records =
      read_records(store, {sweep, comparison.by, comparison.metric, maximize, comparison.target});
  const Ranking& ranking = ranking_of(decide(options, comparison, records));

  std::vector<Contender> contenders;
  for (const Group& group : group_up(records)) {
    contenders.push_back({summarize(group, comparison), scores(group, ranking.member, maximize),
                          scores(group, &TrialRecord::best, maximize)});
  }
  order(contenders);
  judge(contenders);
  for (Contender& contender : contenders)
    comparison.rows.push_back(std::move(contender.row));
  write_notes(comparison, records, ranking);
  return comparison;
}

}  // namespace thalweg::db::analysis
