// Sobol indices by the estimators of Saltelli et al. (Computer Physics Communications 181, 2010,
// table 2): two independent sets of points A and B, and for each parameter A with that one column
// of B.
#include "db/analysis/importance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <stdexcept>

#include "db/analysis/bootstrap.h"
#include "db/analysis/names.h"
#include "db/analysis/records.h"
#include "jobspec/gaussian_process.h"
#include "jobspec/metrics.h"
#include "jobspec/random.h"

namespace thalweg::db::analysis {
namespace {

using jobspec::GaussianProcess;
using jobspec::Point;
using jobspec::Value;

constexpr std::size_t max_outcomes = 150;
constexpr std::size_t draws = 2048, draws_of_others = 128;
constexpr std::size_t max_in_pairs = 8;  // parameters

/// A parameter's values as coordinates: of numbers one from 0 to 1, of others one each.
class Coding {
 public:
  explicit Coding(const std::vector<const Value*>& values) {
    for (const Value* value : values)
      if (std::find(different_.begin(), different_.end(), *value) == different_.end())
        different_.push_back(*value);
    numbers_ = std::all_of(different_.begin(), different_.end(),
                           [](const Value& value) { return value.is_number(); });
    if (!numbers_) return;
    constexpr double wide = 20;
    low_ = std::numeric_limits<double>::infinity();
    high_ = -low_;
    for (const Value& value : different_) {
      low_ = std::min(low_, value.as_double());
      high_ = std::max(high_, value.as_double());
    }
    logarithm_ = low_ > 0 && high_ > wide * low_;
  }

  std::size_t values() const { return different_.size(); }

  void append(const Value& value, Point& point) const {
    if (numbers_) {
      point.push_back(high_ > low_ ? (scaled(value.as_double()) - scaled(low_)) /
                                         (scaled(high_) - scaled(low_))
                                   : 0.5);
      return;
    }
    for (const Value& each : different_)
      point.push_back(each == value ? 1 / std::sqrt(2.0) : 0);  // two different ones are 1 apart
  }

 private:
  double scaled(double value) const { return logarithm_ ? std::log(value) : value; }

  std::vector<Value> different_;
  bool numbers_ = false, logarithm_ = false;
  double low_ = 0, high_ = 0;
};

/// A set of outcomes as what a model is fitted to.
class Space {
 public:
  Space(std::size_t parameters, const std::vector<Outcome>& outcomes) : outcomes_(outcomes) {
    for (std::size_t p = 0; p < parameters; ++p) {
      std::vector<const Value*> values;
      for (const Outcome& outcome : outcomes)
        values.push_back(&outcome.parameters[p]);
      codings_.emplace_back(values);
    }
  }

  std::size_t parameters() const { return codings_.size(); }
  std::size_t values(std::size_t parameter) const { return codings_[parameter].values(); }

  /// Parameter p with the value that outcome rows[p] has.
  Point mixed(const std::vector<std::size_t>& rows) const {
    Point point;
    for (std::size_t p = 0; p < codings_.size(); ++p)
      codings_[p].append(outcomes_[rows[p]].parameters[p], point);
    return point;
  }
  Point of(std::size_t row) const { return mixed(std::vector<std::size_t>(codings_.size(), row)); }

  GaussianProcess fit(const std::vector<std::size_t>& rows) const {
    std::vector<Point> points;
    std::vector<double> values;
    for (const std::size_t row : rows) {
      points.push_back(of(row));
      values.push_back(outcomes_[row].value);
    }
    return GaussianProcess(std::move(points), values, jobspec::Matern::three_halves);
  }
  double value(std::size_t row) const { return outcomes_[row].value; }
  std::size_t size() const { return outcomes_.size(); }

 private:
  const std::vector<Outcome>& outcomes_;
  std::vector<Coding> codings_;
};

/// The outcome that each parameter of each draw takes its value from: every outcome as often, in an
/// order of each parameter's own.
std::vector<std::vector<std::size_t>> draw(const Space& space, std::uint64_t stream,
                                           std::size_t count) {
  std::vector<std::vector<std::size_t>> rows(count, std::vector<std::size_t>(space.parameters()));
  for (std::size_t p = 0; p < space.parameters(); ++p) {
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t i = 0; i < count; ++i)
      order.emplace_back(jobspec::uniform(stream, i, p), i);
    std::sort(order.begin(), order.end());
    for (std::size_t i = 0; i < count; ++i)
      rows[order[i].second][p] = i * space.size() / count;
  }
  return rows;
}

class Indices {
 public:
  explicit Indices(const Space& space) : space_(space), model_(space.fit(all())) {
    a_ = draw(space, 1, draws);
    b_ = draw(space, 2, draws);
    others_ = draw(space, 3, draws_of_others);
    f_a_ = predict(a_);
    f_b_ = predict(b_);
    double sum = 0, squares = 0;
    for (const auto* values : {&f_a_, &f_b_})
      for (const double value : *values) {
        sum += value;
        squares += value * value;
      }
    const auto count = static_cast<double>(2 * draws);
    mean_ = sum / count;
    variance_ = std::max(0.0, squares / count - mean_ * mean_);
  }

  bool none() const { return variance_ <= 0; }

  /// What these parameters do, alone and among themselves.
  double closed(const std::vector<std::size_t>& parameters) const {
    const std::vector<double> f = predict(swapped(parameters));
    double sum = 0;
    for (std::size_t i = 0; i < draws; ++i)
      sum += (f_b_[i] - mean_) * (f[i] - f_a_[i]);
    return std::clamp(sum / static_cast<double>(draws) / variance_, 0.0, 1.0);
  }
  /// What it does alone: how the mean over draws of all others goes with it. The same draws for
  /// each of its values, so that what the others do alone makes no noise.
  double main(std::size_t parameter) const {
    double mean = 0, squares = 0;
    auto rows = others_;
    for (std::size_t outcome = 0; outcome < space_.size(); ++outcome) {
      for (auto& row : rows)
        row[parameter] = outcome;
      double inner = 0;
      for (const double value : predict(rows))
        inner += value / static_cast<double>(rows.size());
      mean += inner / static_cast<double>(space_.size());
      squares += inner * inner / static_cast<double>(space_.size());
    }
    return std::clamp((squares - mean * mean) / variance_, 0.0, 1.0);
  }
  double total(std::size_t parameter) const {
    const std::vector<double> f = predict(swapped({parameter}));
    double sum = 0;
    for (std::size_t i = 0; i < draws; ++i)
      sum += (f_a_[i] - f[i]) * (f_a_[i] - f[i]);
    return std::clamp(sum / (2 * static_cast<double>(draws)) / variance_, 0.0, 1.0);
  }

 private:
  std::vector<std::size_t> all() const {
    std::vector<std::size_t> rows;
    for (std::size_t row = 0; row < space_.size(); ++row)
      rows.push_back(row);
    return rows;
  }
  std::vector<std::vector<std::size_t>> swapped(const std::vector<std::size_t>& parameters) const {
    auto rows = a_;
    for (std::size_t i = 0; i < draws; ++i)
      for (const std::size_t p : parameters)
        rows[i][p] = b_[i][p];
    return rows;
  }
  std::vector<double> predict(const std::vector<std::vector<std::size_t>>& rows) const {
    std::vector<double> values;
    for (const auto& row : rows)
      values.push_back(model_.mean(space_.mixed(row)));
    return values;
  }

  const Space& space_;
  GaussianProcess model_;
  std::vector<std::vector<std::size_t>> a_, b_, others_;
  std::vector<double> f_a_, f_b_;
  double mean_ = 0, variance_ = 0;
};

/// 1 - squared errors over squared distances from the mean, of outcomes left out of the fit.
double explained_by_folds(const Space& space) {
  constexpr std::size_t folds = 5;
  double mean = 0, errors = 0, all = 0;
  for (std::size_t row = 0; row < space.size(); ++row)
    mean += space.value(row) / static_cast<double>(space.size());
  for (std::size_t fold = 0; fold < folds; ++fold) {
    std::vector<std::size_t> rest, held;
    for (std::size_t row = 0; row < space.size(); ++row)
      (row % folds == fold ? held : rest).push_back(row);
    if (rest.empty() || held.empty()) continue;
    const GaussianProcess model = space.fit(rest);
    for (const std::size_t row : held) {
      errors += std::pow(model.mean(space.of(row)) - space.value(row), 2);
      all += std::pow(space.value(row) - mean, 2);
    }
  }
  return all > 0 ? std::max(0.0, 1 - errors / all) : 0;
}

void thin(std::vector<Outcome>& outcomes) {
  if (outcomes.size() <= max_outcomes) return;
  std::vector<Outcome> kept;
  for (std::size_t i = 0; i < max_outcomes; ++i)
    kept.push_back(outcomes[i * outcomes.size() / max_outcomes]);
  outcomes = std::move(kept);
}

}  // namespace

Importance importance_of(const std::vector<std::string>& names, std::vector<Outcome> outcomes) {
  Importance found;
  std::erase_if(outcomes, [](const Outcome& o) { return !std::isfinite(o.value); });
  thin(outcomes);
  std::set<double> different;
  for (const Outcome& outcome : outcomes)
    different.insert(outcome.value);
  if (outcomes.size() < 4 || different.size() < 2 || names.empty()) return found;
  const Space space(names.size(), outcomes);
  const Indices indices(space);
  if (indices.none()) return found;
  std::vector<double> closed;
  for (std::size_t p = 0; p < names.size(); ++p) {
    const double main = indices.main(p);
    closed.push_back(indices.closed({p}));
    found.parameters.push_back({names[p], main, std::max(main, indices.total(p)),
                                static_cast<std::int64_t>(space.values(p))});
  }
  constexpr double min_share = 0.01;
  for (std::size_t p = 0; p < std::min(names.size(), max_in_pairs); ++p)
    for (std::size_t q = p + 1; q < std::min(names.size(), max_in_pairs); ++q)
      if (const double share = indices.closed({p, q}) - closed[p] - closed[q]; share >= min_share)
        found.pairs.push_back({names[p], names[q], share});
  std::stable_sort(found.parameters.begin(), found.parameters.end(),
                   [](const auto& a, const auto& b) { return a.total > b.total; });
  std::stable_sort(found.pairs.begin(), found.pairs.end(),
                   [](const auto& a, const auto& b) { return a.share > b.share; });
  found.explained = explained_by_folds(space);
  return found;
}

namespace {

/// A configuration by the median over its seeds.
std::vector<Outcome> outcomes_of(const std::vector<TrialRecord>& records) {
  std::map<std::int64_t, std::pair<const TrialRecord*, std::vector<double>>> by_configuration;
  for (const TrialRecord& record : records) {
    if (!std::isfinite(record.best)) continue;
    auto& [first, values] = by_configuration[record.configuration];
    if (!first) first = &record;
    values.push_back(record.best);
  }
  std::vector<Outcome> outcomes;
  for (auto& [configuration, of] : by_configuration)
    outcomes.push_back({of.first->others, median(of.second)});
  return outcomes;
}

void keep_best(std::vector<Outcome>& outcomes, double share, bool maximize) {
  if (share >= 1) return;
  std::vector<double> values;
  for (const Outcome& outcome : outcomes)
    values.push_back(maximize ? -outcome.value : outcome.value);
  std::sort(values.begin(), values.end());
  const auto kept = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  if (kept == 0) return;
  const double limit = values[kept - 1];
  std::erase_if(outcomes,
                [&](const Outcome& o) { return (maximize ? -o.value : o.value) > limit; });
}

using ZipGroup = std::vector<std::string>;

/// What the sweep's file zips. Values that only meet each other by chance, as every draw of a
/// random search does, are no sign of it. None where the text is no sweep file: an imported sweep.
std::vector<ZipGroup> zipped_groups(const std::string& text) {
  std::vector<ZipGroup> groups;
  const auto add = [&](const jobspec::List& names) {
    ZipGroup group;
    for (const Value& name : names)
      if (name.is_string()) group.push_back(name.as_string());
    groups.push_back(std::move(group));
  };
  try {
    const Value file = jobspec::read_yaml(text, "sweep");
    const Value* const zip = file.is_map() ? file.find("zip") : nullptr;
    if (zip == nullptr || !zip->is_list() || zip->as_list().empty()) return groups;
    if (zip->as_list().front().is_string()) {
      add(zip->as_list());
    } else {
      for (const Value& each : zip->as_list())
        if (each.is_list()) add(each.as_list());
    }
  } catch (const std::exception&) {
    groups.clear();  // a record of before files were kept
  }
  return groups;
}

/// Different values of the parameters at `places` together.
std::size_t values_of(const std::vector<Outcome>& outcomes,
                      const std::vector<std::size_t>& places) {
  std::set<std::string> different;
  for (const Outcome& outcome : outcomes) {
    std::string values;
    for (const std::size_t p : places)
      values += outcome.parameters[p].canonical() + '\n';
    different.insert(std::move(values));
  }
  return different.size();
}

/// Those at `places` become one, at the first of them: by the values of one that tells all of them
/// apart, which may be numbers, else by all their values as a word.
void join(const std::vector<std::size_t>& places, ZipGroup& names, std::vector<Outcome>& outcomes) {
  const std::size_t together = values_of(outcomes, places);
  const auto telling = std::find_if(places.begin(), places.end(), [&](std::size_t p) {
    return values_of(outcomes, {p}) == together;
  });
  for (Outcome& outcome : outcomes) {
    std::string word;
    for (const std::size_t p : places)
      word += outcome.parameters[p].canonical() + '\n';
    Value value = telling == places.end() ? Value(word) : outcome.parameters[*telling];
    for (std::size_t i = places.size(); i-- > 1;)
      outcome.parameters.erase(outcome.parameters.begin() + static_cast<std::ptrdiff_t>(places[i]));
    outcome.parameters[places.front()] = std::move(value);
  }
  for (std::size_t i = 1; i < places.size(); ++i)
    names[places.front()] += " and " + names[places[i]];
  for (std::size_t i = places.size(); i-- > 1;)
    names.erase(names.begin() + static_cast<std::ptrdiff_t>(places[i]));
}

/// Parameters that are zipped count once, under all their names: nobody can tell which of them it
/// was.
void join_zipped(const std::vector<ZipGroup>& groups, ZipGroup& names,
                 std::vector<Outcome>& outcomes) {
  for (const ZipGroup& group : groups) {
    std::vector<std::size_t> places;
    for (std::size_t p = 0; p < names.size(); ++p)
      if (std::find(group.begin(), group.end(), names[p]) != group.end()) places.push_back(p);
    if (places.size() > 1) join(places, names, outcomes);
  }
}

/// Values become their ranks, equal ones their mean: a few that diverged do not make all of the
/// variance.
void take_ranks(std::vector<Outcome>& outcomes) {
  std::vector<double> values;
  for (const Outcome& outcome : outcomes)
    values.push_back(outcome.value);
  std::sort(values.begin(), values.end());
  for (Outcome& outcome : outcomes) {
    const auto [first, last] = std::equal_range(values.begin(), values.end(), outcome.value);
    outcome.value = static_cast<double>((first - values.begin()) + (last - values.begin())) / 2;
  }
}

}  // namespace

ImportanceStudy study_importance(ReadStore& store, std::int64_t id, const std::string& metric,
                                 double best_share) {
  const auto sweep = store.sweep(id);
  if (!sweep) throw std::invalid_argument(fmt::format("there is no sweep {}", id));
  ImportanceStudy study{id, metric.empty() ? sweep->metric : metric};
  const bool own = study.metric == sweep->metric;
  if (!own) check_metric(store, {id}, study.metric);
  const bool maximize = own ? sweep->goal == jobspec::Goal::maximize
                            : jobspec::goal_by_name(study.metric) == jobspec::Goal::maximize;
  std::vector<std::string> names = varied_parameters(store, id);
  auto outcomes = outcomes_of(read_records(store, {id, {}, names, study.metric, maximize, {}}));
  study.configurations = static_cast<std::int64_t>(outcomes.size());
  keep_best(outcomes, best_share, maximize);
  if (outcomes.size() > max_outcomes)
    study.notes.push_back(fmt::format("{} of {} configurations, evenly spread, are in the model",
                                      max_outcomes, outcomes.size()));
  join_zipped(zipped_groups(sweep->text), names, outcomes);
  take_ranks(outcomes);
  study.found = importance_of(names, std::move(outcomes));
  constexpr double trusted = 0.5;
  if (study.found.parameters.empty())
    study.notes.push_back(
        "nothing to report: needs at least 4 configurations with different results");
  else if (study.found.explained < trusted)
    study.notes.push_back(
        "the model explains less than half of results that it has not seen: do not trust the "
        "shares");
  return study;
}

}  // namespace thalweg::db::analysis
