// A genetic search without generations that wait: each configuration belongs to a deme by its
// number, and is the child of two of the best of its deme, each the winner of a tournament. From
// time to time the best of the deme before takes part (migration along a ring). So any number of
// trials runs at once, and the same results give the same child.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "jobspec/option.h"
#include "jobspec/search/genes.h"
#include "jobspec/search/search.h"
#include "jobspec/search/visit.h"

namespace thalweg::jobspec {
namespace {

/// Children that are made until one can run.
constexpr std::uint64_t tries = 300;
/// How far beyond its parents a child's number may lie, in parts of their distance (BLX of Eshelman
/// and Schaffer 1993).
constexpr double beyond = 0.5;
/// How far a mutation moves a number, as a part of its range.
constexpr double least_mutation = 0.02, largest_mutation = 0.3;

struct Member {
  std::int64_t configuration = 0;
  Genes genes{};
  double value = 0;  ///< mean over the seeds that have ended
};

bool by_value(const Member& a, const Member& b) {
  return a.value < b.value;
}

/// The members of each deme, the best first.
std::vector<std::vector<Member>> demes_of(const History& history, const GeneSpace& space,
                                          std::size_t count) {
  std::map<std::int64_t, std::pair<const Observed*, std::vector<double>>> found;
  for (const Observed& each : history.ended) {
    auto& [first, values] = found[each.configuration];
    if (!first) first = &each;
    values.push_back(*each.value);
  }
  std::vector<std::vector<Member>> demes(count);
  for (const auto& [configuration, known] : found) {
    double sum = 0;
    for (const double value : known.second)
      sum += value;
    demes[static_cast<std::size_t>(configuration - 1) % count].push_back(
        {configuration, space.of(known.first->parameters),
         sum / static_cast<double>(known.second.size())});
  }
  for (auto& deme : demes)
    std::stable_sort(deme.begin(), deme.end(), by_value);
  return demes;
}

/// Who may become a parent.
std::vector<Member> parents_of(const History& history, const GeneSpace& space) {
  const auto count = static_cast<std::size_t>(history.number("demes"));
  const auto size = static_cast<std::size_t>(history.number("population"));
  const auto own = static_cast<std::size_t>(history.configuration - 1);
  const auto demes = demes_of(history, space, count);
  std::vector<Member> members = demes[own % count];
  members.resize(std::min(members.size(), size));
  const std::size_t generation = own / (count * size);
  const auto interval = static_cast<std::size_t>(history.number("migration"));
  const auto& before = demes[(own + count - 1) % count];
  if ((generation % interval == 0 || members.empty()) && !before.empty() && count > 1)
    members.insert(std::upper_bound(members.begin(), members.end(), before.front(), by_value),
                   before.front());
  for (std::size_t i = 0; i < count && members.empty(); ++i)
    members = demes[i];
  return members;
}

class Breeding {
 public:
  Breeding(const History& history, GeneSpace& space)
      : history_(history),
        space_(space),
        parents_(parents_of(history, space)),
        tournament_(static_cast<std::size_t>(history.number("tournament"))),
        crossover_(history.number("crossover")),
        mutation_(history.number("mutation")) {}

  /// False where no more are needed.
  bool child(std::uint64_t number, const Offer& offer) {
    Dice dice(history_.seed, number);
    const Member &first = winner(dice), &second = winner(dice);
    const bool crosses = dice.uniform() < crossover_;
    std::vector<double> genes;
    for (std::size_t i = 0; i < space_.genes().size(); ++i) {
      double gene = crosses ? crossed(dice, i, first, second)
                            : first.genes[i].value_or(space_.drawn(i, dice.uniform()));
      // A copy would be of no use: the more children were refused, the more of their genes mutate.
      if (dice.uniform() < mutation_ + static_cast<double>(number) / tries)
        gene = mutated(dice, i, gene);
      genes.push_back(gene);
    }
    const auto values = space_.configuration(genes);
    if (!values) return true;
    const std::string& metric = history_.sweep.metric.name;
    return offer(*values, fmt::format("child of configurations {} ({} {:.4g}) and {} ({:.4g})",
                                      first.configuration, metric, history_.shown(first.value),
                                      second.configuration, history_.shown(second.value)));
  }

 private:
  const Member& winner(Dice& dice) const {
    std::size_t best = parents_.size();
    for (std::size_t i = 0; i < tournament_; ++i)
      best = std::min(best, dice.below(parents_.size()));
    return parents_[best];
  }

  double crossed(Dice& dice, std::size_t i, const Member& first, const Member& second) const {
    const bool from_first = dice.uniform() < 0.5;
    const double part = -beyond + (1 + 2 * beyond) * dice.uniform(), drawn = dice.uniform();
    const auto &a = first.genes[i], &b = second.genes[i];
    if (!a && !b) return space_.drawn(i, drawn);
    if (!a || !b) return a ? *a : *b;
    if (!space_.genes()[i].ordered) return from_first ? *a : *b;
    return std::clamp(*a + part * (*b - *a), 0.0, 1.0);
  }

  double mutated(Dice& dice, std::size_t i, double gene) const {
    if (!space_.genes()[i].ordered) return space_.drawn(i, dice.uniform());
    const double scale =
        least_mutation * std::pow(largest_mutation / least_mutation, dice.uniform());
    const double x = std::fabs(gene + scale * dice.normal());
    return std::clamp(x > 1 ? 2 - x : x, 0.0, 1.0);
  }

  const History& history_;
  GeneSpace& space_;
  const std::vector<Member> parents_;
  const std::size_t tournament_;
  const double crossover_, mutation_;
};

void propose_children(const History& history, const Offer& offer) {
  GeneSpace space(history.sweep);
  Breeding breeding(history, space);
  for (std::uint64_t number = 0; number < tries; ++number)
    if (!breeding.child(number, offer)) return;
}

}  // namespace

namespace search {

SearchMethod genetic() {
  return {"genetic",
          "children of the best configurations, in demes between which the best migrate",
          "evolution evolutionary ga geneticalgorithm crayhpo deap nsga2",
          independent_draws,
          0,
          propose_children,
          {int_option("demes", 2, 1, 1000, "populations that breed apart from each other"),
           int_option("population", 3, 2, 100'000, "of each deme, so many of the best are parents"),
           int_option("tournament", 3, 1, 1000, "the best of so many drawn ones becomes a parent"),
           float_option("crossover", 0.5, 0, 1, "probability that a child has two parents"),
           float_option("mutation", 0.8, 0, 1, "probability that a value of a child is changed"),
           int_option("migration", 1, 1, 1'000'000,
                      "in each so many-th generation the best of the deme before is a parent")}};
}

}  // namespace search
}  // namespace thalweg::jobspec
