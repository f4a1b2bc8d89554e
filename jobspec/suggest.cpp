// Half of what is looked at is drawn as random search draws, and finds regions; the other half lies
// near the best configurations and near what looks best so far, round by round, and finds the best
// place of a region. With random draws alone the choice, not the model, is what limits the search.
#include "jobspec/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "jobspec/combine.h"
#include "jobspec/gaussian_process.h"
#include "jobspec/half_rank.h"
#include "jobspec/hash.h"
#include "jobspec/parse.h"
#include "jobspec/paths.h"
#include "jobspec/schema.h"
#include "jobspec/search_space.h"

namespace thalweg::jobspec {
namespace {

constexpr std::int64_t drawn_candidates = 500;
constexpr std::uint64_t rounds = 5, near_ones = 100;  // candidates near others, in each round
constexpr std::size_t centres_kept = 5;               // of the results, and of the candidates
/// Beyond so many results the best and the latest of them tell enough.
constexpr std::size_t max_observed = 300, best_kept = 100;

using State = Observed::State;

/// The value that counts of a trial, if it has it; nothing: the worst result of all.
std::optional<double> counting(const Observed& each, const Metric& metric) {
  const Impute impute = each.state == State::ended     ? Impute::best
                        : each.state == State::running ? *metric.impute_while_running
                                                       : metric.impute;
  const std::optional<double>& value = impute == Impute::latest ? each.latest : each.value;
  if (impute == Impute::worst || !value || !std::isfinite(*value)) return std::nullopt;
  return metric.goal == Goal::maximize ? -*value : *value;
}

/// Smaller is better from here on; what has no value that counts gets the worst one. Trials that
/// run stay so where nothing is to stand for their result.
void orient(std::vector<Observed>& observed, const Metric& metric) {
  std::optional<double> worst;
  const auto expected = [&](const Observed& each) {
    if (each.state != State::running) return false;
    return !metric.impute_while_running ||
           (*metric.impute_while_running != Impute::worst && !counting(each, metric));
  };
  for (Observed& each : observed) {
    if (expected(each)) continue;
    each.value = counting(each, metric);
    if (each.value && each.state == State::ended)
      worst = std::max(worst.value_or(*each.value), *each.value);
    if (each.state == State::running) each.state = State::failed;
  }
  for (Observed& each : observed)
    if (!each.value && each.state != State::running) each.value = worst;
}

/// Splits off those that are still running.
std::vector<Observed> take_running(std::vector<Observed>& observed) {
  std::vector<Observed> running;
  std::erase_if(observed, [&](const Observed& each) {
    const bool runs = each.state == State::running;
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
  Chosen values;
  GaussianProcess::Prediction prediction;
  double improvement = 0;
};

/// What one choice looks at. All candidates are a pure function of sweep, configuration and model.
class Candidates {
 public:
  Candidates(const Sweep& sweep, SearchSpace& space, const GaussianProcess& model, double best,
             std::int64_t configuration)
      : sweep_(sweep),
        space_(space),
        model_(model),
        best_(best),
        // A seed is an int64.
        seed_(hash128(fmt::format("bayes {} {}", sweep.seed, configuration))[0] >> 1) {}

  /// The best first. `incumbents`: the configurations with the best results.
  std::vector<Candidate> ranked(const std::vector<Chosen>& incumbents) {
    try {
      draw();
      for (std::uint64_t round = 0; round < rounds; ++round) {
        sort();
        look_near(incumbents, round * near_ones);
      }
    } catch (const BadConstraint&) {
      // Those that were found have to do.
    }
    sort();
    return std::move(found_);
  }

 private:
  void add(Chosen values) {
    Candidate candidate{std::move(values), {}, 0};
    candidate.prediction = model_.at(space_.of(combination_of(candidate.values)));
    candidate.improvement = expected_improvement(candidate.prediction, best_);
    found_.push_back(std::move(candidate));
  }

  /// What random search with a seed of this configuration's own would draw.
  void draw() {
    Sweep draws = sweep_;
    draws.method = Method::random;
    draws.run_cap = drawn_candidates;
    draws.seed = seed_;
    for_each_combination(draws, [&](std::int64_t, const Combination& combination) {
      add(chosen(combination));
      return true;
    });
  }

  void look_near(const std::vector<Chosen>& incumbents, std::uint64_t first) {
    std::vector<Chosen> centres = incumbents;
    for (std::size_t i = 0; i < std::min(centres_kept, found_.size()); ++i)
      centres.push_back(found_[i].values);
    for (std::uint64_t i = 0; i < near_ones && !centres.empty(); ++i)
      if (auto values = space_.near(centres[i % centres.size()], seed_, first + i))
        add(std::move(*values));
  }

  void sort() {
    std::stable_sort(found_.begin(), found_.end(), [](const Candidate& a, const Candidate& b) {
      return a.improvement > b.improvement;
    });
  }

  const Sweep& sweep_;
  SearchSpace& space_;
  const GaussianProcess& model_;
  const double best_;
  const std::uint64_t seed_;
  std::vector<Candidate> found_;
};

/// The configurations of the best results, each once.
std::vector<Chosen> incumbents_of(std::vector<Observed> observed, const SearchSpace& space) {
  std::stable_sort(observed.begin(), observed.end(),
                   [](const Observed& a, const Observed& b) { return *a.value < *b.value; });
  std::vector<Chosen> found;
  for (const Observed& each : observed) {
    Chosen values = space.values(each.parameters);
    if (std::find(found.begin(), found.end(), values) == found.end())
      found.push_back(std::move(values));
    if (found.size() == centres_kept) break;
  }
  return found;
}

/// "loss 0.12 ± 0.03 is expected"
std::string expectation(const Sweep& sweep, const GaussianProcess::Prediction& prediction,
                        double cut) {
  const bool maximize = sweep.metric.goal == Goal::maximize;
  if (prediction.mean > cut)
    return fmt::format("{} {} {:.4g} is expected", sweep.metric.name, maximize ? "below" : "above",
                       maximize ? -cut : cut);
  return fmt::format("{} {:.4g} ± {:.2g} is expected", sweep.metric.name,
                     maximize ? -prediction.mean : prediction.mean, prediction.deviation);
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
  orient(observed, sweep.metric);
  const std::vector<Observed> running = take_running(observed);
  limit(observed);
  if (observed.empty()) return std::nullopt;
  SearchSpace space(sweep);
  std::vector<Point> points;
  std::vector<double> values;
  for (const Observed& each : observed) {
    points.push_back(space.of(each.parameters));
    values.push_back(*each.value);
  }
  const HalfRanked scaled = half_ranked(values);
  GaussianProcess model(std::move(points), scaled.values);
  for (const Observed& each : running)
    model.believe(space.of(each.parameters));
  const double best = *std::min_element(scaled.values.begin(), scaled.values.end());

  const Paths paths(sweep, schema);
  std::optional<Suggestion> repeated;
  Candidates candidates(sweep, space, model, best, configuration);
  for (const Candidate& each : candidates.ranked(incumbents_of(std::move(observed), space))) {
    const Combination combination = combination_of(each.values);
    const bool there = taken.count(resolved(sweep, paths, combination).hash) > 0;
    if ((there && repeated) || !fits(sweep, schema, combination)) continue;
    Suggestion suggestion{resolved(sweep, paths, combination),
                          fmt::format("chosen by {} results: {}, the best is {:.4g}", values.size(),
                                      expectation(sweep, each.prediction, scaled.cut),
                                      sweep.metric.goal == Goal::maximize ? -best : best)};
    if (!there) return suggestion;
    repeated = std::move(suggestion);
  }
  return repeated;
}

}  // namespace thalweg::jobspec
