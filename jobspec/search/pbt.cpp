// Population based training (Jaderberg et al. 2017, arXiv:1711.09846), in generations. Each member
// trains on from its own checkpoint; one of the worst instead from the checkpoint of one of the
// best, with values near that one's. So what is found is a schedule of values, not one setting.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "jobspec/option.h"
#include "jobspec/search/generations.h"
#include "jobspec/search/genes.h"
#include "jobspec/search/search.h"
#include "jobspec/search/visit.h"

namespace thalweg::jobspec {
namespace {

/// Copies that are made until one can run.
constexpr std::uint64_t tries = 300;
/// Among the random numbers of a choice, so that they are not those of its values.
constexpr std::uint64_t number_of_parent = tries;

/// The generation before, the best first.
std::vector<const Observed*> ranked(const History& history) {
  const Learning& learning = *history.sweep.learning;
  const std::int64_t before = generation_of(learning, history.configuration) - 1;
  std::vector<const Observed*> members;
  for (const Observed& each : history.ended)
    if (generation_of(learning, each.configuration) == before) members.push_back(&each);
  std::stable_sort(members.begin(), members.end(),
                   [](const Observed* a, const Observed* b) { return *a->value < *b->value; });
  return members;
}

struct Descent {
  const Observed* parent = nullptr;  ///< nothing where no member has a result
  bool copies = false;               ///< another one's checkpoint, with other values
  std::size_t place = 0;             ///< of the parent, from 0
};

Descent descent(const History& history) {
  const std::vector<const Observed*> members = ranked(history);
  if (members.empty()) return {};
  const double share = history.number("truncation");
  const auto some = static_cast<std::size_t>(
      std::floor(share * static_cast<double>(*history.sweep.learning->generation)));
  const std::int64_t own = history.configuration - *history.sweep.learning->generation;
  const auto at = std::find_if(members.begin(), members.end(),
                               [own](const Observed* each) { return each->configuration == own; });
  const auto place = static_cast<std::size_t>(at - members.begin());
  const bool survives = at != members.end() && (place + some < members.size() || place < some);
  if (survives && (*at)->state == Observed::State::ended) return {*at, false, place};
  Dice dice(history.seed, number_of_parent);
  const std::size_t best = dice.below(std::clamp<std::size_t>(some, 1, members.size()));
  return {members[best], true, best};
}

std::int64_t parent(const History& history) {
  const Descent from = descent(history);
  return from.parent && from.parent->state == Observed::State::ended ? from.parent->configuration
                                                                     : 0;
}

std::vector<double> explored(const History& history, const GeneSpace& space, const Genes& genes,
                             std::uint64_t number) {
  Dice dice(history.seed, number);
  const double factor = history.number("perturb"), resample = history.number("resample");
  std::vector<double> found;
  for (std::size_t i = 0; i < genes.size(); ++i) {
    const bool draws = dice.uniform() < resample, up = dice.uniform() < 0.5;
    const double drawn = space.drawn(i, dice.uniform());
    if (!genes[i] || draws)
      found.push_back(drawn);
    else
      found.push_back(space.scaled(i, *genes[i], up ? factor : 1 / factor));
  }
  return found;
}

void propose_next(const History& history, const Offer& offer) {
  const Descent from = descent(history);
  if (!from.parent) return;
  GeneSpace space(history.sweep);
  const std::string result = fmt::format("configuration {} ({} {:.4g}, place {} of its generation)",
                                         from.parent->configuration, history.sweep.metric.name,
                                         history.shown(*from.parent->value), from.place + 1);
  if (!from.copies) {
    offer(history.space.values(from.parent->parameters), "continues from " + result);
    return;
  }
  const Genes genes = space.of(from.parent->parameters);
  for (std::uint64_t number = 0; number < tries; ++number) {
    const auto values = space.configuration(explored(history, space, genes, number));
    if (values && !offer(*values, "copies " + result + ", with other values")) return;
  }
}

}  // namespace

namespace search {

SearchMethod pbt() {
  SearchMethod method{
      "pbt",
      "population based training: the worst continue from checkpoints of the best, with other "
      "values",
      "populationbasedtraining population populationbased pb2",
      independent_draws,
      0,
      propose_next,
      {int_option("population", 8, 2, 100'000, "configurations of a generation"),
       float_option("truncation", 0.25, 0, 0.5,
                    "part of a generation that is replaced by copies of as many of the best"),
       above_min(float_option("perturb", 1.2, 1, 1000,
                              "values of a copy are multiplied or divided by it")),
       float_option("resample", 0.25, 0, 1,
                    "probability that a value of a copy is drawn anew instead")}};
  method.generation = "population";
  method.parent = parent;
  return method;
}

}  // namespace search
}  // namespace thalweg::jobspec
