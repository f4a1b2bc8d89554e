#include "db/analysis/records.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "db/analysis/bootstrap.h"
#include "jobspec/metric_names.h"
#include "jobspec/value.h"

namespace thalweg::db::analysis {
namespace {

constexpr double kMissed = std::numeric_limits<double>::infinity();
constexpr std::int64_t kAllRows = std::numeric_limits<std::int64_t>::max();
constexpr double kPatience = 60;  // seconds for one query
// Up to here the rate of a trial is the median over its whole curve; beyond, its newest value, to
// stay quick.
constexpr std::size_t kRateCurves = 1000;

using Rows = std::vector<std::vector<jobspec::Value>>;

Rows ask(ReadStore& store, const char* sql, const std::vector<jobspec::Value>& parameters) {
  return store.query(sql, kAllRows, kPatience, parameters).rows;
}

// The queries; the first `?` of each is the sweep.
constexpr const char* kTrials =
    "SELECT trial, state, configuration, seed FROM trials WHERE sweep = ? ORDER BY trial";
constexpr const char* kParameter =
    "SELECT t.trial, p.value, p.type FROM trials AS t, json_each(t.parameters) AS p"
    " WHERE t.sweep = ? AND p.key = ?";
constexpr const char* kHyperparameter =
    "SELECT trial, value FROM hyperparameters WHERE sweep = ? AND name = ?";
constexpr const char* kHasHyperparameter =
    "SELECT 1 FROM hyperparameters WHERE sweep = ? AND name = ? LIMIT 1";
constexpr const char* kHyperparameters =
    "SELECT DISTINCT name FROM hyperparameters WHERE sweep = ? ORDER BY name";
// A parameter that only some trials have is varied too.
constexpr const char* kVaried =
    "SELECT p.key FROM trials AS t, json_each(t.parameters) AS p WHERE t.sweep = ?1"
    " GROUP BY p.key HAVING count(DISTINCT p.type || ':' || ifnull(p.value, '')) > 1"
    " OR count(*) < (SELECT count(*) FROM trials WHERE sweep = ?1)"
    " ORDER BY min(t.trial), min(p.id)";

/// SQL has no booleans: JSON's type says which numbers are.
jobspec::Value typed(const jobspec::Value& value, const std::string& type) {
  if (type == "true" || type == "false") return type == "true";
  return value;
}

/// trial -> value, from the parameters where they name it, else from the trial's `train` tree.
std::map<std::int64_t, jobspec::Value> values_of(ReadStore& store, std::int64_t sweep,
                                                 const std::string& name) {
  std::map<std::int64_t, jobspec::Value> values;
  for (auto& row : ask(store, kParameter, {sweep, name}))
    values[row[0].as_int()] = typed(row[1], row[2].as_string());
  if (!values.empty()) return values;
  for (auto& row : ask(store, kHyperparameter, {sweep, name}))
    values[row[0].as_int()] = row[1];
  return values;
}

double began(const AttemptRow& attempt) {
  return attempt.started > 0 ? attempt.started : attempt.launched;
}

double seconds_of(const AttemptRow& attempt) {
  if (attempt.ended <= 0 || attempt.started <= 0) return 0;  // never ran, or is running still
  return std::max(0.0, attempt.ended - attempt.started);
}

struct Spent {
  double seconds = 0, node_seconds = 0;

  void add(double more, std::int64_t nodes) {
    seconds += more;
    node_seconds += more * static_cast<double>(nodes);
  }
};

/// What the trial had spent when `point` was measured.
Spent spent_until(const CurvePoint& point, const std::vector<AttemptRow>& attempts) {
  Spent spent;
  for (const AttemptRow& attempt : attempts) {
    if (attempt.id.attempt < point.attempt) {
      spent.add(seconds_of(attempt), attempt.nodes);
    } else if (attempt.id.attempt == point.attempt) {
      spent.add(std::max(0.0, point.time - began(attempt)), attempt.nodes);
    }
  }
  return spent;
}

void find_target(ReadStore& store, const Wanted& wanted, const std::vector<AttemptRow>& attempts,
                 TrialRecord& record) {
  record.steps = record.seconds = record.node_seconds_to_target = kMissed;
  const auto there = [&](double value) {
    return wanted.maximize ? value >= *wanted.target : value <= *wanted.target;
  };
  if (!there(record.best)) return;  // the curve need not be read
  for (const CurvePoint& point : store.curve(record.id, wanted.metric)) {
    if (!there(point.value)) continue;
    const Spent spent = spent_until(point, attempts);
    record.steps = static_cast<double>(point.step);
    record.seconds = spent.seconds;
    record.node_seconds_to_target = spent.node_seconds;
    return;
  }
}

double rate(ReadStore& store, const Id& trial, const std::string& metric) {
  std::vector<double> values;
  for (const CurvePoint& point : store.curve(trial, metric))
    values.push_back(point.value);
  return median(std::move(values));
}

/// Fills best, samples_per_s and, for trials that have points or have failed, what it took to the
/// target.
void read_metrics(ReadStore& store, const Wanted& wanted,
                  const std::map<std::int64_t, std::vector<AttemptRow>>& attempts,
                  std::map<std::int64_t, TrialRecord*>& by_number) {
  static const std::string kRate = jobspec::metric::samples_per_s;
  for (const ReadStore::Latest& latest : store.latest(wanted.sweep)) {
    TrialRecord& record = *by_number.at(latest.trial.trial);
    if (latest.metric == wanted.metric) record.best = wanted.maximize ? latest.max : latest.min;
    if (latest.metric == kRate) {
      record.samples_per_s =
          by_number.size() <= kRateCurves ? rate(store, record.id, kRate) : latest.value;
    }
  }
  if (!wanted.target) return;
  static const std::vector<AttemptRow> kNone;
  for (auto& [number, record] : by_number) {
    if (std::isnan(record->best) && record->state != TrialPhase::failed) continue;
    const auto found = attempts.find(number);
    find_target(store, wanted, found == attempts.end() ? kNone : found->second, *record);
  }
}

}  // namespace

std::vector<TrialRecord> read_records(ReadStore& store, const Wanted& wanted) {
  std::vector<TrialRecord> records;
  for (const auto& row : ask(store, kTrials, {wanted.sweep})) {
    TrialRecord record;
    record.id = {wanted.sweep, row[0].as_int(), 0};
    record.state = from_name<TrialPhase>(row[1].as_string());
    record.configuration = row[2].as_int();
    record.seed = static_cast<std::uint64_t>(row[3].as_int());
    record.group.resize(wanted.by.size());
    record.others.resize(wanted.others.size());
    records.push_back(std::move(record));
  }
  std::map<std::int64_t, TrialRecord*> by_number;
  for (TrialRecord& record : records)
    by_number[record.id.trial] = &record;

  const auto fill = [&](const std::vector<std::string>& names, auto member) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      for (auto& [number, value] : values_of(store, wanted.sweep, names[i]))
        (by_number.at(number)->*member)[i] = value;
    }
  };
  fill(wanted.by, &TrialRecord::group);
  fill(wanted.others, &TrialRecord::others);
  std::map<std::int64_t, std::vector<AttemptRow>> attempts;
  for (AttemptRow& attempt : store.attempts(wanted.sweep)) {
    attempts[attempt.id.trial].push_back(std::move(attempt));
  }
  for (const auto& [number, of_trial] : attempts) {
    Spent spent;
    for (const AttemptRow& attempt : of_trial)
      spent.add(seconds_of(attempt), attempt.nodes);
    by_number.at(number)->node_seconds = spent.node_seconds;
  }
  read_metrics(store, wanted, attempts, by_number);
  return records;
}

std::vector<std::string> varied_parameters(ReadStore& store, std::int64_t sweep) {
  std::vector<std::string> names;
  for (const auto& row : ask(store, kVaried, {sweep}))
    names.push_back(row[0].as_string());
  return names;
}

bool has_hyperparameter(ReadStore& store, std::int64_t sweep, const std::string& name) {
  return !ask(store, kHasHyperparameter, {sweep, name}).empty();
}

std::vector<std::string> all_hyperparameters(ReadStore& store, std::int64_t sweep) {
  std::vector<std::string> names;
  for (const auto& row : ask(store, kHyperparameters, {sweep}))
    names.push_back(row[0].as_string());
  return names;
}

}  // namespace thalweg::db::analysis
