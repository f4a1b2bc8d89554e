#include "db/analysis/records.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "db/analysis/bootstrap.h"
#include "jobspec/early_terminate.h"
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
    "SELECT trial, state, configuration, seed, reason FROM trials WHERE sweep = ? ORDER BY trial";
// The view of hyperparameters takes every trial's trees apart; these look up one path.
constexpr const char* kWritten =
    "SELECT trial, json_extract(train, ?2) FROM trials WHERE sweep = ?1"
    " AND json_type(train, ?2) IS NOT NULL";
constexpr const char* kResolved =
    "SELECT trial, json_extract(config, ?2) FROM starts WHERE sweep = ?1"
    " AND json_type(config, ?2) NOT IN ('null', 'object') ORDER BY attempt DESC";
constexpr const char* kAsked =
    "SELECT trial, json_extract(resources, ?2) FROM trials WHERE sweep = ?1"
    " AND json_type(resources, ?2) IS NOT NULL";
constexpr const char* kIsParameter =
    "SELECT 1 FROM trials WHERE sweep = ?1 AND json_type(parameters, ?2) IS NOT NULL LIMIT 1";
constexpr const char* kIsWritten =
    "SELECT 1 FROM trials WHERE sweep = ?1"
    " AND ifnull(json_type(train, ?2), 'object') <> 'object' LIMIT 1";
constexpr const char* kIsAsked =
    "SELECT 1 FROM trials WHERE sweep = ?1 AND json_type(resources, ?2) IS NOT NULL LIMIT 1";
constexpr const char* kIsResolved =
    "SELECT 1 FROM starts WHERE sweep = ?1"
    " AND ifnull(json_type(config, ?2), 'null') NOT IN ('null', 'object') LIMIT 1";
constexpr const char* kHyperparameters =
    "SELECT DISTINCT name FROM hyperparameters WHERE sweep = ? ORDER BY name";
// Values inside of lists stand under their lists' names; of the resources what changes results or
// speed.
constexpr const char* kFirstTree =
    "SELECT '$.resources.' || r.key AS name, r.type || ':' || ifnull(r.value, '') AS value"
    " FROM trials AS t, json_each(t.resources) AS r WHERE t.sweep = ?1"
    " AND t.trial = (SELECT min(trial) FROM trials WHERE sweep = ?1)"
    " AND r.key IN ('nodes', 'ranks_per_node', 'threads_per_rank', 'gpus_per_node')"
    " UNION ALL"
    " SELECT j.fullkey, j.type || ':' || ifnull(j.value, '')"
    " FROM trials AS t, json_tree(t.train) AS j WHERE t.sweep = ?1"
    " AND t.trial = (SELECT min(trial) FROM trials WHERE sweep = ?1)"
    " AND j.type <> 'object' AND instr(j.fullkey, '[') = 0";

constexpr const char* kLooks =
    "SELECT trial, points, step FROM latest_metrics WHERE sweep = ?1 AND metric = ?2";

constexpr const char* kEmulated =
    "SELECT trial, max(json_extract(config, '$.emulate')) AS emulated FROM starts WHERE sweep = ?1"
    " AND json_extract(config, '$.emulate') <> json_object('preset', 'none')"
    " GROUP BY trial ORDER BY trial";

/// A name of any characters as a key of a JSON object.
std::string key_path(const std::string& name) {
  return "$." + jobspec::Value(name).to_json();
}

/// "optimizer.lr" as a path through nested objects.
std::string tree_path(const std::string& name) {
  std::string path = "$";
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t dot = std::min(name.find('.', at), name.size());
    path += "." + jobspec::Value(name.substr(at, dot - at)).to_json();
    at = dot + 1;
  }
  return path;
}

/// "resources.nodes" as a path through what was asked for; empty for other names.
std::string resource_path(const std::string& name) {
  constexpr std::string_view resources = "resources.";
  return name.starts_with(resources) ? tree_path(name.substr(resources.size())) : "";
}

using Values = TrialValues;

/// For those of the `trials` trials that have none yet: from the `train` tree, else what the engine
/// took for it. That is a large tree, so it is looked into only where nobody wrote the value.
void add_from_trees(ReadStore& store, std::int64_t sweep, const std::string& name,
                    std::size_t trials, Values& values) {
  if (const std::string path = resource_path(name); !path.empty())
    for (auto& row : ask(store, kAsked, {sweep, path}))
      values.try_emplace(row[0].as_int(), std::move(row[1]));
  for (const char* sql : {kWritten, kResolved}) {
    if (values.size() == trials) return;
    for (auto& row : ask(store, sql, {sweep, tree_path(name)}))
      values.try_emplace(row[0].as_int(), std::move(row[1]));
  }
}

using ByNumber = std::map<std::int64_t, TrialRecord*>;

/// Calls `each` with the record of every trial that is among them: query() may see one that was
/// added meanwhile.
template <class Each>
void for_known(const ByNumber& by_number, const Values& values, Each each) {
  for (const auto& [number, value] : values)
    if (const auto found = by_number.find(number); found != by_number.end())
      each(*found->second, value);
}

/// Of one sweep, by name and trial: what several studies ask for, one after the other.
struct KnownParameters {
  std::map<std::string, Values> values;

  /// The texts of the parameters are read once for all names that are not known yet.
  void read(ReadStore& store, std::int64_t sweep, const std::vector<std::string>& names) {
    std::vector<std::string> missing;
    for (const std::string& name : names)
      if (values.count(name) == 0) missing.push_back(name);
    if (missing.empty()) return;
    std::vector<Values> read = parameter_values(store, sweep, missing);
    for (std::size_t i = 0; i < missing.size(); ++i)
      values[missing[i]] = std::move(read[i]);
  }
};

/// By sweep and name.
struct KnownWithTrees {
  std::map<std::pair<std::int64_t, std::string>, Values> values;
};

/// Of names: from the parameters, and from the trees where no trial's parameters hold it; `each`:
/// where any trial's do not.
class ValuesOf {
 public:
  ValuesOf(ReadStore& store, std::int64_t sweep, const std::vector<std::string>& names,
           std::size_t trials)
      : store_(store), sweep_(sweep), trials_(trials) {
    known().read(store, sweep, names);
  }

  const Values& of(const std::string& name, bool each = false) {
    const Values& found = known().values.at(name);
    if (!found.empty() && (!each || found.size() == trials_)) return found;
    auto& trees = store_.kept<KnownWithTrees>().values;
    const std::pair key{sweep_, name};
    if (const auto known = trees.find(key); known != trees.end()) return known->second;
    Values values = found;
    add_from_trees(store_, sweep_, name, trials_, values);
    return store_.kept<KnownWithTrees>().values[key] = std::move(values);
  }

 private:
  KnownParameters& known() { return store_.kept_of_configurations<KnownParameters>(sweep_); }

  ReadStore& store_;
  std::int64_t sweep_;
  std::size_t trials_;
};

/// The values of Wanted::by and others.
void read_values(ReadStore& store, const Wanted& wanted, std::vector<TrialRecord>& records,
                 const ByNumber& by_number) {
  std::vector<std::string> names = wanted.by;
  names.insert(names.end(), wanted.others.begin(), wanted.others.end());
  ValuesOf known(store, wanted.sweep, names, by_number.size());
  const auto place = [&](TrialRecord& record, std::size_t i) -> jobspec::Value& {
    return i < wanted.by.size() ? record.group[i] : record.others[i - wanted.by.size()];
  };
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == sweep_name) {
      for (TrialRecord& record : records)
        place(record, i) = wanted.sweep;
      continue;
    }
    for_known(by_number, known.of(names[i]),
              [&](TrialRecord& record, const jobspec::Value& value) { place(record, i) = value; });
  }
}

void read_batches(ReadStore& store, std::int64_t sweep, const ByNumber& by_number) {
  const std::string batch = "batch.global", growth = "batch_growth.by";
  ValuesOf known(store, sweep, {batch, growth}, by_number.size());
  for_known(by_number, known.of(batch, true), [](TrialRecord& record, const jobspec::Value& value) {
    if (value.is_number()) record.global_batch = value.as_double();
  });
  for_known(by_number, known.of(growth, true),
            [](TrialRecord& record, const jobspec::Value& value) {
              record.batch_grows = !value.is_null() && value.to_text() != "none";
            });
}

/// NaN of an imported run that came without times.
double began(const AttemptTimes& attempt) {
  if (attempt.started > 0) return attempt.started;
  return attempt.launched > 0 ? attempt.launched : std::numeric_limits<double>::quiet_NaN();
}

double seconds_of(const AttemptTimes& attempt) {
  if (std::isnan(began(attempt))) return began(attempt);
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

/// Seconds of one kind (validation, say) as the attempts added them up.
using Kept = std::vector<CurvePoint>;

/// What of it falls into the attempt, up to the step; all of it where no step is given.
double kept_of(const Kept& kept, std::int64_t attempt, std::optional<std::int64_t> step) {
  double seconds = 0;
  for (const CurvePoint& point : kept)
    if (point.attempt == attempt && (!step || point.step <= *step)) seconds = point.value;
  return seconds;
}

/// What the trial had spent when `point` was measured, but for what is left out.
Spent spent_until(const CurvePoint& point, const std::vector<AttemptTimes>& attempts,
                  const std::vector<Kept>& left_out) {
  Spent spent;
  for (const AttemptTimes& attempt : attempts) {
    const bool last = attempt.id.attempt == point.attempt;
    if (attempt.id.attempt > point.attempt) continue;
    double seconds = last ? point.time - began(attempt) : seconds_of(attempt);
    for (const Kept& kept : left_out)
      seconds -= kept_of(kept, attempt.id.attempt, last ? std::optional(point.step) : std::nullopt);
    spent.add(std::max(seconds, 0.0), attempt.nodes);  // NaN stays
  }
  return spent;
}

/// How many samples a trial had trained on by a step.
class SamplesBy {
 public:
  SamplesBy(ReadStore& store, const TrialRecord& record, bool counts)
      : batch_(record.global_batch) {
    if (!counts) return;
    trained_ = store.curve(record.id, jobspec::metric::batch_samples);
    if (trained_.empty()) return;
    const std::vector<CurvePoint> sizes = store.curve(record.id, jobspec::metric::batch_size);
    if (!sizes.empty()) newest_batch_ = sizes.back().value;
  }

  /// A batch that grows is reported each time that it does, so it is the same between two reports.
  double at(std::int64_t step) const {
    if (trained_.empty()) return static_cast<double>(step) * batch_;
    const auto next = std::lower_bound(
        trained_.begin(), trained_.end(), step,
        [](const CurvePoint& point, std::int64_t than) { return point.step < than; });
    const CurvePoint before = next == trained_.begin() ? CurvePoint{} : *std::prev(next);
    const auto since = static_cast<double>(step - before.step);
    if (next == trained_.end()) return before.value + since * newest_batch_;
    return before.value +
           since * (next->value - before.value) / static_cast<double>(next->step - before.step);
  }

 private:
  double batch_, newest_batch_ = 0;
  std::vector<CurvePoint> trained_;  ///< only of runs whose batch grows
};

std::vector<double> targets_of(const Wanted& wanted) {
  std::vector<double> targets{*wanted.target};
  targets.insert(targets.end(), wanted.other_targets.begin(), wanted.other_targets.end());
  return targets;
}

/// By no infinity: that is what the logarithm of nothing gives.
bool is_reached(const Wanted& wanted, double value, double target) {
  if (!std::isfinite(value)) return false;
  return wanted.maximize ? value >= target : value <= target;
}

/// Where the metric first is as good as each of the targets; `curve` may be empty where it is as
/// good as none. `counts`: the trial reports samples.
void find_targets(ReadStore& store, const Wanted& wanted, const std::vector<CurvePoint>& curve,
                  const std::vector<AttemptTimes>& attempts, bool counts, TrialRecord& record) {
  const std::vector<double> targets = targets_of(wanted);
  // One that still runs may yet get there.
  const double otherwise = record.ended() || record.diverged ? kMissed : kUnknown;
  std::vector<Reached> reached(targets.size(), {otherwise, otherwise, otherwise, otherwise});
  std::vector<Kept> left_out;
  std::optional<SamplesBy> samples;
  if (!curve.empty()) {
    for (const std::string& metric : wanted.left_out)
      left_out.push_back(store.reported(record.id, metric));
    samples.emplace(store, record, counts);
  }
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const auto point = std::find_if(curve.begin(), curve.end(), [&](const CurvePoint& p) {
      return is_reached(wanted, p.value, targets[i]);
    });
    if (point == curve.end()) continue;
    const Spent spent = spent_until(*point, attempts, left_out);
    const auto steps = static_cast<double>(point->step);
    reached[i] = {steps, samples->at(point->step), spent.seconds, spent.node_seconds};
  }
  record.steps = reached[0].steps;
  record.samples = reached[0].samples;
  record.seconds = reached[0].seconds;
  record.node_seconds_to_target = reached[0].node_seconds;
  record.other_targets.assign(reached.begin() + 1, reached.end());
}

void read_rates(ReadStore& store, std::int64_t sweep, const ByNumber& by_number) {
  static const std::string kRate = jobspec::metric::samples_per_s;
  for (const ReadStore::Latest& latest : store.latest(sweep, kRate)) {
    TrialRecord& record = *by_number.at(latest.trial.trial);
    record.samples_per_s =
        by_number.size() <= kRateCurves ? median_of_curve(store, record.id, kRate) : latest.value;
  }
}

/// Fills best and, for trials that have points or have failed, what it took to the target.
void read_metrics(ReadStore& store, const Wanted& wanted,
                  const std::map<std::int64_t, std::vector<AttemptTimes>>& attempts,
                  const ByNumber& by_number) {
  const std::vector<double> targets = wanted.target ? targets_of(wanted) : std::vector<double>{};
  bool any_reached = false;
  for (const ReadStore::Latest& latest : store.latest(wanted.sweep, wanted.metric)) {
    TrialRecord& record = *by_number.at(latest.trial.trial);
    record.diverged = latest.diverged();
    const double best = latest.best(wanted.maximize);
    record.best = !record.diverged  ? (wanted.newest ? latest.value : best)
                  : wanted.maximize ? -kMissed
                                    : kMissed;
    any_reached = any_reached || (!record.diverged &&
                                  std::any_of(targets.begin(), targets.end(), [&](double target) {
                                    return is_reached(wanted, best, target);
                                  }));
  }
  for (const auto& row : ask(store, kLooks, {wanted.sweep, wanted.metric})) {
    const auto found = by_number.find(row[0].as_int());
    if (found == by_number.end() || row[1].as_int() == 0) continue;
    found->second->looks = row[1].as_double();
    found->second->steps_per_look = row[2].as_double() / row[1].as_double();
    if (row[1].as_int() > 1)
      found->second->steps_per_next_look = row[2].as_double() / (row[1].as_double() - 1);
  }
  if (!wanted.target) return;
  std::set<std::int64_t> counting;
  for (const auto& latest : store.latest(wanted.sweep, jobspec::metric::batch_samples))
    counting.insert(latest.trial.trial);
  static const std::vector<AttemptTimes> kNone;
  static const std::vector<CurvePoint> kNoCurve;
  const auto find = [&](std::int64_t number, const std::vector<CurvePoint>& curve) {
    const auto found = attempts.find(number);
    const bool diverged = by_number.at(number)->diverged;
    find_targets(store, wanted, diverged ? kNoCurve : curve,
                 found == attempts.end() ? kNone : found->second, counting.count(number) != 0,
                 *by_number.at(number));
  };
  for (const auto& [number, record] : by_number)
    if (!std::isnan(record->best) || record->state == TrialPhase::failed) find(number, {});
  // Where no target was reached the curves need not be read.
  if (any_reached) store.curves(wanted.sweep, wanted.metric, find);
}

void add_prices(double of_node_hour, std::vector<TrialRecord>& records) {
  const double of_node_second = of_node_hour / 3600;
  for (TrialRecord& record : records) {
    record.money = of_node_second * record.node_seconds;
    record.money_to_target = of_node_second * record.node_seconds_to_target;
    for (Reached& other : record.other_targets)
      other.money = of_node_second * other.node_seconds;
  }
}

ByNumber by_number_of(std::vector<TrialRecord>& records) {
  ByNumber by_number;
  for (TrialRecord& record : records)
    by_number.emplace_hint(by_number.end(), record.id.trial, &record);
  return by_number;
}

/// What stands in the trials' rows.
std::vector<TrialRecord> read_trials(ReadStore& store, const Wanted& wanted) {
  std::vector<TrialRecord> records;
  for (const auto& row : ask(store, kTrials, {wanted.sweep})) {
    TrialRecord record;
    record.id = {wanted.sweep, row[0].as_int(), 0};
    record.state = from_name<TrialPhase>(row[1].as_string());
    record.configuration = row[2].as_int();
    record.seed = static_cast<std::uint64_t>(row[3].as_int());
    record.ended_early = record.state == TrialPhase::finished &&
                         row[4].as_string().starts_with(jobspec::early_end_reason);
    record.other_targets.resize(wanted.other_targets.size());
    records.push_back(std::move(record));
  }
  return records;
}

/// All but values of parameters.
std::vector<TrialRecord> read_results(ReadStore& store, const Wanted& wanted) {
  std::vector<TrialRecord> records = read_trials(store, wanted);
  const ByNumber by_number = by_number_of(records);
  if (wanted.target) read_batches(store, wanted.sweep, by_number);
  std::map<std::int64_t, std::vector<AttemptTimes>> attempts;
  for (const AttemptTimes& attempt : store.attempt_times(wanted.sweep))
    attempts[attempt.id.trial].push_back(attempt);
  for (const auto& [number, of_trial] : attempts) {
    Spent spent;
    for (const AttemptTimes& attempt : of_trial)
      spent.add(seconds_of(attempt), attempt.nodes);
    by_number.at(number)->node_seconds = spent.node_seconds;
  }
  read_metrics(store, wanted, attempts, by_number);
  read_rates(store, wanted.sweep, by_number);
  return records;
}

/// Results by what was asked for.
struct KnownResults {
  using Key = std::tuple<std::int64_t, std::string, bool, std::optional<double>,
                         std::vector<double>, std::vector<std::string>, bool>;
  static constexpr std::size_t most = 4;  ///< each as large as its sweep
  std::map<Key, std::vector<TrialRecord>> results;
};

std::vector<TrialRecord> results_of(ReadStore& store, const Wanted& wanted) {
  const KnownResults::Key key{wanted.sweep,         wanted.metric,   wanted.maximize, wanted.target,
                              wanted.other_targets, wanted.left_out, wanted.newest};
  const auto& known = store.kept<KnownResults>().results;
  if (const auto found = known.find(key); found != known.end()) return found->second;
  std::vector<TrialRecord> results = read_results(store, wanted);
  auto& now = store.kept<KnownResults>().results;
  if (now.size() >= KnownResults::most) now.clear();
  now[key] = results;
  return results;
}

}  // namespace

double median_of_curve(ReadStore& store, const Id& trial, const std::string& metric) {
  std::vector<double> values;
  for (const CurvePoint& point : store.curve(trial, metric))
    values.push_back(point.value);
  return median(std::move(values));
}

std::vector<TrialRecord> read_records(ReadStore& store, const Wanted& wanted) {
  std::vector<TrialRecord> records = results_of(store, wanted);
  for (TrialRecord& record : records) {
    record.group.resize(wanted.by.size());
    record.others.resize(wanted.others.size());
  }
  read_values(store, wanted, records, by_number_of(records));
  if (wanted.price) add_prices(*wanted.price, records);
  return records;
}

std::vector<TrialRecord> read_bests(ReadStore& store, std::int64_t sweep, const std::string& metric,
                                    bool maximize) {
  Wanted wanted;
  wanted.sweep = sweep;
  wanted.metric = metric;
  wanted.maximize = maximize;
  std::vector<TrialRecord> records = read_trials(store, wanted);
  read_metrics(store, wanted, {}, by_number_of(records));
  return records;
}

std::string group_name(const std::vector<jobspec::Value>& values) {
  std::string name;
  for (const jobspec::Value& value : values)
    name += (name.empty() ? "" : ", ") + value.to_text();
  return name;
}

std::vector<std::string> differing_parameters(ReadStore& store,
                                              const std::vector<std::int64_t>& sweeps) {
  std::vector<std::string> names;
  std::map<std::string, std::map<std::int64_t, std::string>> values;  // name -> sweep -> value
  for (const std::int64_t sweep : sweeps) {
    for (const auto& row : ask(store, kFirstTree, {sweep})) {
      std::string name = row[0].as_string();
      std::erase(name, '"');
      name.erase(0, 2);  // "$."
      if (values[name].empty()) names.push_back(name);
      values[name][sweep] = row[1].as_string();
    }
  }
  std::erase_if(names, [&](const std::string& name) {
    const auto& of_sweeps = values[name];
    return of_sweeps.size() == sweeps.size() &&
           std::all_of(of_sweeps.begin(), of_sweeps.end(),
                       [&](const auto& each) { return each.second == of_sweeps.begin()->second; });
  });
  return names;
}

std::vector<std::pair<Id, std::string>> emulated_trials(ReadStore& store, std::int64_t sweep) {
  std::vector<std::pair<Id, std::string>> trials;
  for (const auto& row : ask(store, kEmulated, {sweep}))
    trials.emplace_back(Id{sweep, row[0].as_int(), 0}, row[1].as_string());
  return trials;
}

std::string emulated_note(const Id& trial, const std::string& what) {
  return "trial " + trial.to_string() + " ran on emulated ranks or links (" + what +
         "): its times are of no real machine";
}

bool has_hyperparameter(ReadStore& store, std::int64_t sweep, const std::string& name) {
  const std::string resource = resource_path(name);
  return !ask(store, kIsParameter, {sweep, key_path(name)}).empty() ||
         (!resource.empty() && !ask(store, kIsAsked, {sweep, resource}).empty()) ||
         !ask(store, kIsWritten, {sweep, tree_path(name)}).empty() ||
         !ask(store, kIsResolved, {sweep, tree_path(name)}).empty();
}

std::vector<std::string> all_hyperparameters(ReadStore& store, std::int64_t sweep) {
  std::vector<std::string> names;
  for (const auto& row : ask(store, kHyperparameters, {sweep}))
    names.push_back(row[0].as_string());
  return names;
}

}  // namespace thalweg::db::analysis
