// Axes become coordinates from 0 to 1: of a range, the probability of a smaller draw (so what a
// distribution spreads evenly, as log_uniform_values the logarithm, is even here); of listed
// numbers their rank; of other listed values one coordinate each.
#include "jobspec/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "jobspec/combine.h"
#include "jobspec/gaussian_process.h"
#include "jobspec/hash.h"
#include "jobspec/parse.h"
#include "jobspec/paths.h"
#include "jobspec/schema.h"

namespace thalweg::jobspec {
namespace {

constexpr std::int64_t candidates = 1000;  // as W&B's sweep controller
/// Beyond so many results the best and the latest of them tell enough.
constexpr std::size_t max_observed = 300, best_kept = 100;

class Coordinates {
 public:
  explicit Coordinates(const Axis& axis) : axis_(axis) {
    if (const auto* listed = axis.distribution->listed()) {
      values_ = *listed;
      ordered_ = std::all_of(values_.begin(), values_.end(),
                             [](const Value& value) { return value.is_number(); });
      if (ordered_)
        std::sort(values_.begin(), values_.end(),
                  [](const Value& a, const Value& b) { return a.as_double() < b.as_double(); });
      values_.erase(std::unique(values_.begin(), values_.end()), values_.end());
    }
  }

  /// `value`: nullptr where the axis is left out.
  void append(const Value* value, Point& point) const {
    if (!values_.empty() && !ordered_) {
      // Two different values are 1 apart.
      for (const Value& each : values_)
        point.push_back(value && each == *value ? 1 / std::sqrt(2.0) : 0);
    } else if (!value || !value->is_number()) {
      point.push_back(0.5);
    } else if (ordered_) {
      point.push_back(rank(value->as_double()));
    } else {
      point.push_back(probability_below(value->as_double()));
    }
  }

 private:
  double rank(double value) const {
    if (values_.size() < 2) return 0.5;
    std::size_t smaller = 0;
    while (smaller + 1 < values_.size() && values_[smaller].as_double() < value)
      ++smaller;
    return static_cast<double>(smaller) / static_cast<double>(values_.size() - 1);
  }

  /// Bisects the inverse: the middle of where it gives this value (some round).
  double probability_below(double value) const {
    constexpr double least = 1e-9;
    const double first = axis_.distribution->sample(least).as_double();
    const double last = axis_.distribution->sample(1 - least).as_double();
    const bool growing = first <= last;
    const auto edge = [&](bool with) {
      double low = 0, high = 1;
      for (int i = 0; i < 40; ++i) {
        const double middle = (low + high) / 2;
        const double there = axis_.distribution->sample(middle).as_double();
        const double off = growing ? there - value : value - there;
        (off < 0 || (with && off == 0) ? low : high) = middle;
      }
      return (low + high) / 2;
    };
    return (edge(false) + edge(true)) / 2;
  }

  const Axis& axis_;
  std::vector<Value> values_;
  bool ordered_ = false;
};

class Space {
 public:
  explicit Space(const Sweep& sweep) : sweep_(sweep) {
    for (const Axis& axis : sweep.axes)
      axes_.emplace_back(axis);
  }
  Point of(const Combination& combination) const {
    Point point;
    for (std::size_t i = 0; i < axes_.size(); ++i)
      axes_[i].append(combination[i], point);
    return point;
  }
  Point of(const Value& parameters) const {
    Combination combination;
    for (const Axis& axis : sweep_.axes)
      combination.push_back(parameters.find(axis.name));
    return of(combination);
  }

 private:
  const Sweep& sweep_;
  std::vector<Coordinates> axes_;
};

/// Smaller is better from here on; failures and endings without a value get the worst one.
void orient(std::vector<Observed>& observed, Goal goal) {
  std::optional<double> worst;
  for (Observed& each : observed) {
    if (each.value && !std::isfinite(*each.value)) each.value.reset();
    if (each.state == Observed::State::failed) each.value.reset();
    if (each.value && goal == Goal::maximize) each.value = -*each.value;
    if (each.value && each.state == Observed::State::ended)
      worst = std::max(worst.value_or(*each.value), *each.value);
  }
  for (Observed& each : observed)
    if (!each.value && each.state != Observed::State::running) each.value = worst;
}

/// Splits off those that are still running.
std::vector<Observed> take_running(std::vector<Observed>& observed) {
  std::vector<Observed> running;
  std::erase_if(observed, [&](const Observed& each) {
    const bool runs = each.state == Observed::State::running;
    if (runs) running.push_back(each);
    return runs || !each.value;
  });
  return running;
}

void limit(std::vector<Observed>& observed) {
  if (observed.size() <= max_observed) return;
  std::vector<double> values;
  for (const Observed& each : observed)
    values.push_back(*each.value);
  std::nth_element(values.begin(), values.begin() + best_kept, values.end());
  const double good = values[best_kept];
  std::size_t older = observed.size() - (max_observed - best_kept);
  std::erase_if(observed, [&](const Observed& each) {
    const bool is_old = older > 0;
    if (is_old) --older;
    return is_old && *each.value >= good;
  });
}

struct Candidate {
  std::vector<std::optional<Value>> values;
  GaussianProcess::Prediction prediction;
  double improvement = 0;

  Combination combination() const {
    Combination result;
    for (const auto& value : values)
      result.push_back(value ? &*value : nullptr);
    return result;
  }
};

/// Draws that random search with a seed of this configuration's own would make, the best first.
std::vector<Candidate> ranked(const Sweep& sweep, const Space& space, const GaussianProcess& model,
                              double best, std::int64_t configuration) {
  Sweep draws = sweep;
  draws.method = Method::random;
  draws.run_cap = candidates;
  draws.seed =
      hash128(fmt::format("bayes {} {}", sweep.seed, configuration))[0] >> 1;  // a seed is an int64
  std::vector<Candidate> found;
  const auto take = [&](std::int64_t, const Combination& combination) {
    Candidate candidate;
    for (const Value* value : combination)
      candidate.values.push_back(value ? std::optional(*value) : std::nullopt);
    candidate.prediction = model.at(space.of(combination));
    candidate.improvement = expected_improvement(candidate.prediction, best);
    found.push_back(std::move(candidate));
    return true;
  };
  try {
    for_each_combination(draws, take);
  } catch (const BadConstraint&) {
    // Those that were found have to do.
  }
  std::stable_sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
    return a.improvement > b.improvement;
  });
  return found;
}

bool fits(const Sweep& sweep, const Schema& schema, const Combination& combination) {
  Diagnostics diagnostics(sweep.file);
  ConfigurationCheck check(sweep, schema, diagnostics);
  check.visit(combination);
  return diagnostics.empty();
}

ExpandedTrial resolved(const Sweep& sweep, const Paths& paths, const Combination& combination) {
  ExpandedTrial trial;
  trial.resources = resolve_resources(sweep, combination);
  trial.train = resolve_train(sweep, combination);
  paths.make_absolute(trial.train);
  trial.hash = configuration_hash(trial.train, trial.resources);
  Map parameters;
  for (std::size_t i = 0; i < combination.size(); ++i)
    if (combination[i]) parameters.emplace_back(sweep.axes[i].name, *combination[i]);
  trial.parameters = std::move(parameters);
  return trial;
}

}  // namespace

std::optional<Suggestion> suggest(const Sweep& sweep, const Schema& engine,
                                  std::vector<Observed> observed,
                                  const std::set<std::string>& taken, std::int64_t configuration) {
  const Schema& schema = sweep.program ? open_schema() : engine;
  orient(observed, sweep.metric.goal);
  const std::vector<Observed> running = take_running(observed);
  limit(observed);
  if (observed.empty()) return std::nullopt;
  const Space space(sweep);
  std::vector<Point> points;
  std::vector<double> values;
  for (const Observed& each : observed) {
    points.push_back(space.of(each.parameters));
    values.push_back(*each.value);
  }
  GaussianProcess model(std::move(points), values);
  for (const Observed& each : running)
    model.believe(space.of(each.parameters));
  const double best = *std::min_element(values.begin(), values.end());

  const Paths paths(sweep, schema);
  std::optional<Suggestion> repeated;
  for (const Candidate& each : ranked(sweep, space, model, best, configuration)) {
    const Combination combination = each.combination();
    const bool there = taken.count(resolved(sweep, paths, combination).hash) > 0;
    if ((there && repeated) || !fits(sweep, schema, combination)) continue;
    const double sign = sweep.metric.goal == Goal::maximize ? -1 : 1;
    Suggestion suggestion{
        resolved(sweep, paths, combination),
        fmt::format("chosen by {} results: {} {:.4g} ± {:.2g} is expected, the best is {:.4g}",
                    values.size(), sweep.metric.name, sign * each.prediction.mean,
                    each.prediction.deviation, sign * best)};
    if (!there) return suggestion;
    repeated = std::move(suggestion);
  }
  return repeated;
}

}  // namespace thalweg::jobspec
