// Half of what is looked at is drawn as random search draws, and finds regions; the other half lies
// near the best configurations and near what looks best so far, round by round, and finds the best
// place of a region. With random draws alone the choice, not the model, is what limits the search.
#include <fmt/format.h>

#include <algorithm>

#include "jobspec/gaussian_process.h"
#include "jobspec/half_rank.h"
#include "jobspec/search/search.h"
#include "jobspec/search/visit.h"

namespace thalweg::jobspec {
namespace {

constexpr std::int64_t drawn_candidates = 500;
constexpr std::uint64_t rounds = 5, near_ones = 100;  // candidates near others, in each round
constexpr std::size_t centres_kept = 5;               // of the results, and of the candidates
/// Beyond so many results the best and the latest of them tell enough.
constexpr std::size_t max_observed = 300, best_kept = 100;

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

/// What one choice looks at. All candidates are a pure function of the history and the model.
class Candidates {
 public:
  Candidates(const History& history, const GaussianProcess& model, double best)
      : history_(history), model_(model), best_(best) {}

  /// The best first. `incumbents`: the configurations with the best results.
  std::vector<Candidate> ranked(const std::vector<Chosen>& incumbents) {
    try {
      draw_others(history_.sweep, history_.seed, drawn_candidates, [&](Chosen values) {
        add(std::move(values));
        return true;
      });
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
    candidate.prediction = model_.at(history_.space.of(combination_of(candidate.values)));
    candidate.improvement = expected_improvement(candidate.prediction, best_);
    found_.push_back(std::move(candidate));
  }

  void look_near(const std::vector<Chosen>& incumbents, std::uint64_t first) {
    std::vector<Chosen> centres = incumbents;
    for (std::size_t i = 0; i < std::min(centres_kept, found_.size()); ++i)
      centres.push_back(found_[i].values);
    for (std::uint64_t i = 0; i < near_ones && !centres.empty(); ++i)
      if (auto values = history_.space.near(centres[i % centres.size()], history_.seed, first + i))
        add(std::move(*values));
  }

  void sort() {
    std::stable_sort(found_.begin(), found_.end(), [](const Candidate& a, const Candidate& b) {
      return a.improvement > b.improvement;
    });
  }

  const History& history_;
  const GaussianProcess& model_;
  const double best_;
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
std::string expectation(const History& history, const GaussianProcess::Prediction& prediction,
                        double cut) {
  const Metric& metric = history.sweep.metric;
  if (prediction.mean > cut)
    return fmt::format("{} {} {:.4g} is expected", metric.name,
                       metric.goal == Goal::maximize ? "below" : "above", history.shown(cut));
  return fmt::format("{} {:.4g} ± {:.2g} is expected", metric.name, history.shown(prediction.mean),
                     prediction.deviation);
}

void propose_by_process(const History& history, const Offer& offer) {
  std::vector<Observed> observed = history.ended;
  limit(observed);
  std::vector<Point> points;
  std::vector<double> values;
  for (const Observed& each : observed) {
    points.push_back(history.space.of(each.parameters));
    values.push_back(*each.value);
  }
  const HalfRanked scaled = half_ranked(values);
  GaussianProcess model(std::move(points), scaled.values, Matern::five_halves);
  for (const Observed& each : history.running)
    model.believe(history.space.of(each.parameters));
  const double best = *std::min_element(scaled.values.begin(), scaled.values.end());
  Candidates candidates(history, model, best);
  for (const Candidate& each : candidates.ranked(incumbents_of(std::move(observed), history.space)))
    if (!offer(each.values,
               fmt::format("chosen by {} results: {}, the best is {:.4g}", values.size(),
                           expectation(history, each.prediction, scaled.cut), history.shown(best))))
      return;
}

}  // namespace

namespace search {

SearchMethod bayes() {
  return {"bayes",
          "expected improvement over a Gaussian process of the results",
          "bayesian bayesianoptimization bayesopt bo gp ax botorch skopt",
          independent_draws,
          0,
          propose_by_process};
}

}  // namespace search
}  // namespace thalweg::jobspec
