// Rows are compared with the one of the fewest ranks that differs from them by nothing else: strong
// scaling where the batch is the same, weak where the batch a rank is. What follows the ranks (a
// learning rate that was scaled for them) makes no series of its own.
#include "db/analysis/scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <stdexcept>
#include <tuple>

#include "db/analysis/bootstrap.h"
#include "db/analysis/records.h"
#include "jobspec/advise/scaling_law.h"

namespace thalweg::db::analysis {
namespace {

constexpr std::int64_t all_rows = std::int64_t{1} << 40;
constexpr const char* ran_sql =
    "SELECT a.trial, a.nodes, a.ranks, json_extract(s.config, '$.batch.global'),"
    " s.flops_per_sample FROM attempts AS a LEFT JOIN starts AS s"
    " ON s.sweep = a.sweep AND s.trial = a.trial AND s.attempt = a.attempt"
    " WHERE a.sweep = ? ORDER BY a.attempt";

/// How a trial's newest attempt ran.
struct Ran {
  std::int64_t nodes = 1, ranks = 1;
  double batch = std::numeric_limits<double>::quiet_NaN(), flops = batch;
};

struct Trial {
  TrialRecord record;
  Ran ran;
  std::map<std::string, std::string> series;
};

using Series = std::map<std::string, std::string>;
using Key = std::tuple<Series, std::int64_t, std::int64_t, double>;  // ranks, nodes, batch

std::map<std::int64_t, Ran> read_ran(ReadStore& store, std::int64_t sweep) {
  std::map<std::int64_t, Ran> ran;
  for (const auto& row : store.query(ran_sql, all_rows, kQuerySeconds, {sweep}).rows) {
    Ran& of = ran[row[0].as_int()];
    of.nodes = row[1].as_int();
    of.ranks = row[2].as_int();
    if (row[3].is_number()) of.batch = row[3].as_double();
    if (row[4].is_number()) of.flops = row[4].as_double();
  }
  return ran;
}

bool is_of_scale(const std::string& name) {
  return name.starts_with("resources.") || name.starts_with("batch.");
}

void add_sweep(ReadStore& store, std::int64_t id, std::set<std::string>& names,
               std::vector<Trial>& trials) {
  const auto sweep = store.sweep(id);
  if (!sweep) throw std::invalid_argument(fmt::format("there is no sweep {}", id));
  std::vector<std::string> varied = varied_parameters(store, id);
  std::erase_if(varied, is_of_scale);
  names.insert(varied.begin(), varied.end());
  const auto ran = read_ran(store, id);
  const Wanted wanted{
      id, {}, varied, sweep->metric, sweep->goal == jobspec::Goal::maximize, sweep->target};
  for (TrialRecord& record : read_records(store, wanted)) {
    const auto found = ran.find(record.id.trial);
    if (found == ran.end() || !(record.samples_per_s > 0)) continue;
    Trial trial{std::move(record), found->second, {}};
    for (std::size_t i = 0; i < varied.size(); ++i)
      trial.series[varied[i]] = trial.record.others[i].to_text();
    trials.push_back(std::move(trial));
  }
}

/// Each number of ranks has one value of it, and not all the same one.
bool follows_ranks(const std::vector<Trial>& trials, const std::string& name) {
  std::map<std::int64_t, std::set<std::string>> values;
  std::set<std::string> all;
  for (const Trial& trial : trials) {
    const auto found = trial.series.find(name);
    const std::string value = found == trial.series.end() ? "" : found->second;
    values[trial.ran.ranks].insert(value);
    all.insert(value);
  }
  return all.size() > 1 && std::all_of(values.begin(), values.end(),
                                       [](const auto& entry) { return entry.second.size() == 1; });
}

Estimate estimate_of(const std::vector<const Trial*>& trials, double TrialRecord::*number) {
  std::vector<double> values;
  for (const Trial* trial : trials)
    if (!std::isnan(trial->record.*number)) values.push_back(trial->record.*number);
  return bootstrap_median(std::move(values));
}

ScalingRow row_of(const Key& key, const std::vector<const Trial*>& trials) {
  constexpr double tera = 1e12;
  ScalingRow row;
  std::tie(row.series, row.ranks, row.nodes, row.batch) = key;
  row.trials = static_cast<std::int64_t>(trials.size());
  row.samples_per_s = estimate_of(trials, &TrialRecord::samples_per_s);
  row.tflops = row.samples_per_s.median * trials.front()->ran.flops / tera;
  row.seconds_to_target = estimate_of(trials, &TrialRecord::seconds);
  row.node_seconds_to_target = estimate_of(trials, &TrialRecord::node_seconds_to_target);
  return row;
}

/// A row and the trials it is made of.
struct Entry {
  ScalingRow* row;
  const std::vector<const Trial*>* trials;
};

std::string kind_of(const ScalingRow& row, const ScalingRow& base) {
  constexpr double slack = 1e-9;
  const double local = row.batch / static_cast<double>(row.ranks);
  const double base_local = base.batch / static_cast<double>(base.ranks);
  if (row.batch == base.batch) return "strong";
  if (std::abs(local - base_local) <= slack * base_local) return "weak";
  return "mixed";
}

/// The row of the fewest ranks that this one is compared with: of its batch, else of its batch a
/// rank, else any; its place, or nothing where none has fewer ranks.
std::optional<std::size_t> base_of(const std::vector<Entry>& entries, const ScalingRow& row) {
  for (const char* kind : {"strong", "weak", "mixed"})
    for (std::size_t i = 0; i < entries.size(); ++i)
      if (entries[i].row->ranks < row.ranks && kind_of(row, *entries[i].row) == kind) return i;
  return std::nullopt;
}

/// Marks the rows of so many ranks that another one hardly gains anything, by a fit to all their
/// trials and the base's.
void put_worth(const Entry& base, const std::vector<Entry>& entries) {
  std::vector<Speed> speeds;
  const auto add = [&](const Entry& entry) {
    for (const Trial* trial : *entry.trials)
      speeds.push_back({static_cast<double>(entry.row->ranks), trial->record.samples_per_s});
  };
  add(base);
  std::for_each(entries.begin(), entries.end(), add);
  const auto law = jobspec::advise::fit_scaling(speeds);
  if (!law) return;
  for (const Entry& entry : entries)
    entry.row->worth = !law->hardly_gains(static_cast<double>(entry.row->ranks));
}

/// Of rows of one series, by ascending ranks.
void put_gains(const std::vector<Entry>& entries) {
  std::map<std::pair<std::size_t, std::string>, std::vector<Entry>> by_base;
  for (const Entry& entry : entries) {
    const auto base = base_of(entries, *entry.row);
    if (!base) continue;
    ScalingRow& first = *entries[*base].row;
    const auto speed_of = [](const ScalingRow& row) {
      return Speed{static_cast<double>(row.ranks), row.samples_per_s.median};
    };
    const Gain gain = gains_of({speed_of(first), speed_of(*entry.row)}).back();
    entry.row->speedup = gain.speedup;
    entry.row->efficiency = gain.efficiency;
    entry.row->kind = kind_of(*entry.row, first);
    if (std::isnan(first.speedup)) first.speedup = first.efficiency = 1;
    by_base[{*base, entry.row->kind}].push_back(entry);
  }
  for (const auto& [base, of_base] : by_base)
    if (base.second != "mixed") put_worth(entries[base.first], of_base);
}

}  // namespace

std::vector<Gain> gains_of(const std::vector<Speed>& speeds) {
  std::vector<Gain> gains;
  for (const Speed& speed : speeds) {
    const double speedup = speed.samples_per_s / speeds.front().samples_per_s;
    gains.push_back({speedup, speedup * speeds.front().ranks / speed.ranks});
  }
  return gains;
}

ScalingStudy study_scaling(ReadStore& store, const std::vector<std::int64_t>& sweeps) {
  ScalingStudy study;
  study.sweeps = sweeps;
  std::set<std::string> names;
  std::vector<Trial> trials;
  for (const std::int64_t sweep : sweeps) {
    add_sweep(store, sweep, names, trials);
    for (const auto& [trial, what] : emulated_trials(store, sweep)) {
      study.notes.push_back(emulated_note(trial, what));
      break;
    }
  }
  std::erase_if(names, [&](const std::string& name) { return follows_ranks(trials, name); });
  study.by.assign(names.begin(), names.end());
  std::map<Key, std::vector<const Trial*>> by_key;
  for (const Trial& trial : trials) {
    Series series;
    for (const std::string& name : names)
      if (const auto found = trial.series.find(name); found != trial.series.end())
        series.insert(*found);
    // A batch that is there at several numbers of ranks is a series of its own by its kind only.
    by_key[{series, trial.ran.ranks, trial.ran.nodes, trial.ran.batch}].push_back(&trial);
  }
  for (const auto& [key, of_key] : by_key)
    study.rows.push_back(row_of(key, of_key));
  std::map<Series, std::vector<Entry>> by_series;
  std::size_t place = 0;
  for (const auto& [key, of_key] : by_key) {
    ScalingRow& row = study.rows[place++];
    by_series[row.series].push_back({&row, &of_key});
  }
  for (const auto& [series, entries] : by_series)
    put_gains(entries);
  if (study.rows.empty())
    study.notes.push_back("no trial has reported samples per second yet");
  else if (std::all_of(study.rows.begin(), study.rows.end(),
                       [](const ScalingRow& row) { return std::isnan(row.speedup); }))
    study.notes.push_back("no two rows differ by their ranks alone: nothing to compare");
  return study;
}

}  // namespace thalweg::db::analysis
