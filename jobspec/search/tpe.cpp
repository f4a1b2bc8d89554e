// Two densities are estimated, of the best results and of the others; what is proposed is likely
// among the best and unlikely among the others (Bergstra, Bardenet, Bengio and Kegl 2011). Both are
// mixtures with one kernel for each result over all parameters together, so that what goes well
// together is proposed together, and one for all that can be drawn.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "jobspec/option.h"
#include "jobspec/search/genes.h"
#include "jobspec/search/search.h"
#include "jobspec/search/visit.h"

namespace thalweg::jobspec {
namespace {

/// Of the good results, however many there are.
constexpr std::size_t max_good = 25;
/// Kernels get narrower as results become more: by Scott's rule from this part of a range, and as
/// 1/n of the number of all results, the more the less there is to find elsewhere.
constexpr double widest_kernel = 0.2, narrowest_kernel = 0.005, few_results = 10;

double normal_below(double z) {
  return std::erfc(-z / std::numbers::sqrt2) / 2;
}

/// A mixture of kernels around configurations.
class Mixture {
 public:
  Mixture(const GeneSpace& space, std::vector<Genes> centres, std::size_t results)
      : space_(space), centres_(std::move(centres)) {
    const auto n = static_cast<double>(std::max<std::size_t>(centres_.size(), 1));
    const auto dimensions = static_cast<double>(space_.genes().size());
    const double narrower = few_results / std::max(few_results, static_cast<double>(results));
    width_ =
        std::max(narrowest_kernel, widest_kernel * std::pow(n, -1 / (dimensions + 4)) * narrower);
    others_ = 1 / (n + 1);
  }

  std::vector<double> draw(Dice& dice) const {
    const std::size_t kernel = dice.below(centres_.size() + 1);
    std::vector<double> genes;
    for (std::size_t i = 0; i < space_.genes().size(); ++i) {
      const bool known = kernel < centres_.size() && centres_[kernel][i];
      genes.push_back(known ? near(dice, i, *centres_[kernel][i])
                            : space_.drawn(i, dice.uniform()));
    }
    return genes;
  }

  double log_density(const Genes& at) const {
    std::vector<double> logs{log_drawn(at)};
    for (const Genes& centre : centres_)
      logs.push_back(log_kernel(centre, at));
    const double most = *std::max_element(logs.begin(), logs.end());
    double sum = 0;
    for (const double each : logs)
      sum += std::exp(each - most);
    return most + std::log(sum / static_cast<double>(logs.size()));
  }

 private:
  /// Within 0 and 1: what falls outside is drawn again.
  double near(Dice& dice, std::size_t i, double centre) const {
    if (!space_.genes()[i].ordered)
      return dice.uniform() < others_ ? space_.drawn(i, dice.uniform()) : centre;
    for (;;) {
      const double x = centre + width_ * dice.normal();
      if (x > 0 && x < 1) return x;
    }
  }

  double log_drawn(const Genes& at) const {
    double sum = 0;
    for (std::size_t i = 0; i < at.size(); ++i)
      if (at[i] && !space_.genes()[i].ordered) sum += std::log(share(i, *at[i]));
    return sum;
  }

  double log_kernel(const Genes& centre, const Genes& at) const {
    double sum = 0;
    for (std::size_t i = 0; i < at.size(); ++i) {
      if (!at[i]) continue;
      const bool ordered = space_.genes()[i].ordered;
      if (!centre[i]) {
        sum += ordered ? 0 : std::log(share(i, *at[i]));
      } else if (ordered) {
        const double z = (*at[i] - *centre[i]) / width_;
        const double inside =
            normal_below((1 - *centre[i]) / width_) - normal_below(-*centre[i] / width_);
        sum -= z * z / 2 + std::log(width_ * std::sqrt(2 * std::numbers::pi) * inside);
      } else {
        sum += std::log(others_ * share(i, *at[i]) + (*at[i] == *centre[i] ? 1 - others_ : 0));
      }
    }
    return sum;
  }

  double share(std::size_t i, double choice) const {
    return space_.genes()[i].shares[static_cast<std::size_t>(choice)];
  }

  const GeneSpace& space_;
  std::vector<Genes> centres_;
  double width_, others_;
};

struct Guess {
  Chosen values;
  double log_ratio;
};

void propose_by_densities(const History& history, const Offer& offer) {
  std::vector<const Observed*> ranked;
  for (const Observed& each : history.ended)
    ranked.push_back(&each);
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const Observed* a, const Observed* b) { return *a->value < *b->value; });
  const auto wanted = static_cast<std::size_t>(
      std::ceil(history.number("good") * static_cast<double>(ranked.size())));
  const std::size_t good = std::clamp<std::size_t>(wanted, 1, max_good);
  GeneSpace space(history.sweep);
  std::vector<Genes> best, others;
  for (std::size_t i = 0; i < ranked.size(); ++i)
    (i < good ? best : others).push_back(space.of(ranked[i]->parameters));
  // What runs may well be as bad: so trials that run at once keep away from each other.
  for (const Observed& each : history.running)
    others.push_back(space.of(each.parameters));
  const Mixture likely(space, std::move(best), ranked.size());
  const Mixture unlikely(space, std::move(others), ranked.size());
  std::vector<Guess> guesses;
  const auto candidates = static_cast<std::uint64_t>(history.number("candidates"));
  for (std::uint64_t i = 0; i < candidates; ++i) {
    Dice dice(history.seed, i);
    auto values = space.configuration(likely.draw(dice));
    if (!values) continue;
    const Genes genes = space.of(*values);
    guesses.push_back(
        {std::move(*values), likely.log_density(genes) - unlikely.log_density(genes)});
  }
  std::stable_sort(guesses.begin(), guesses.end(),
                   [](const Guess& a, const Guess& b) { return a.log_ratio > b.log_ratio; });
  for (const Guess& each : guesses)
    if (!offer(each.values,
               fmt::format("chosen by {} results: {:.3g} times as likely among the best {} as "
                           "among the others, the best is {:.4g}",
                           ranked.size(), std::exp(each.log_ratio), good,
                           history.shown(*ranked.front()->value))))
      return;
}

}  // namespace

namespace search {

SearchMethod tpe() {
  return {"tpe",
          "what is likely among the best results and unlikely among the others",
          "treeparzen parzen treestructuredparzenestimator optuna hyperopt",
          independent_draws,
          0,
          propose_by_densities,
          {above_min(float_option("good", 0.1, 0, 1,
                                  "the part of the results that counts as good, at most 25")),
           int_option("candidates", 64, 1, 10'000, "configurations that are looked at")}};
}

}  // namespace search
}  // namespace thalweg::jobspec
