// What can be drawn of listed values is found by drawing: so probabilities count, and what has none
// is never chosen.
#include "jobspec/search/genes.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "jobspec/random.h"

namespace thalweg::jobspec {
namespace {

/// Draws at even distances, of all values of a list.
constexpr int probes = 4096;

}  // namespace

GeneSpace::GeneSpace(const Sweep& sweep)
    : sweep_(sweep),
      conditions_(sweep),
      constraints_(sweep),
      groups_(groups_of(sweep)),
      genes_(groups_.size()),
      choices_(groups_.size()) {
  for (std::size_t group = 0; group < groups_.size(); ++group)
    if (sweep.axes[groups_[group].front()].distribution->listed())
      list_choices(group);
    else
      genes_[group].ordered = true;
}

void GeneSpace::list_choices(std::size_t group) {
  struct Choice {
    Values values;
    double share = 0;
  };
  std::vector<Choice> found;
  for (int i = 0; i < probes; ++i) {
    Values values;
    for (const std::size_t axis : groups_[group])
      values.push_back(sweep_.axes[axis].distribution->sample((i + 0.5) / probes));
    // The latest first: draws that are near each other give the same.
    auto known = std::find_if(found.rbegin(), found.rend(),
                              [&](const Choice& choice) { return choice.values == values; });
    if (known == found.rend()) {
      found.push_back({std::move(values)});
      known = found.rbegin();
    }
    known->share += 1.0 / probes;
  }
  genes_[group].ordered = std::all_of(found.begin(), found.end(), [](const Choice& choice) {
    return choice.values.size() == 1 && choice.values.front().is_number();
  });
  if (genes_[group].ordered)
    std::sort(found.begin(), found.end(), [](const Choice& a, const Choice& b) {
      return a.values.front().as_double() < b.values.front().as_double();
    });
  for (Choice& choice : found) {
    choices_[group].push_back(std::move(choice.values));
    genes_[group].shares.push_back(choice.share);
  }
}

std::optional<double> GeneSpace::gene(std::size_t group, const Combination& combination) const {
  const std::vector<std::size_t>& axes = groups_[group];
  const Value* first = combination[axes.front()];
  if (!first) return std::nullopt;
  const std::vector<Values>& choices = choices_[group];
  if (choices.empty())
    return probability_below(*sweep_.axes[axes.front()].distribution, first->as_double());
  for (std::size_t choice = 0; choice < choices.size(); ++choice) {
    bool all = true;
    for (std::size_t i = 0; i < axes.size(); ++i)
      all = all && combination[axes[i]] && *combination[axes[i]] == choices[choice][i];
    if (!all) continue;
    const auto number = static_cast<double>(choice);
    return genes_[group].ordered ? (number + 0.5) / static_cast<double>(choices.size()) : number;
  }
  return std::nullopt;
}

GeneSpace::Values GeneSpace::values(std::size_t group, double gene) const {
  const std::vector<Values>& choices = choices_[group];
  if (choices.empty()) {
    constexpr double inside = 0x1p-53;  // a distribution's ends need not be finite
    const double u = std::clamp(gene, inside, 1 - inside);
    return {sweep_.axes[groups_[group].front()].distribution->sample(u)};
  }
  const auto size = static_cast<double>(choices.size());
  const double number = std::floor(genes_[group].ordered ? gene * size : gene);
  return choices[static_cast<std::size_t>(std::clamp(number, 0.0, size - 1))];
}

Genes GeneSpace::of(const Combination& combination) const {
  Genes found;
  for (std::size_t group = 0; group < groups_.size(); ++group)
    found.push_back(gene(group, combination));
  return found;
}

Genes GeneSpace::of(const Value& parameters) const {
  Combination combination;
  for (const Axis& axis : sweep_.axes)
    combination.push_back(parameters.find(axis.name));
  return of(combination);
}

Genes GeneSpace::of(const Chosen& values) const {
  return of(combination_of(values));
}

double GeneSpace::drawn(std::size_t gene, double u) const {
  if (genes_[gene].ordered) return u;
  const std::vector<double>& shares = genes_[gene].shares;
  std::size_t choice = 0;
  while (choice + 1 < shares.size() && u >= shares[choice])
    u -= shares[choice++];
  return static_cast<double>(choice);
}

double GeneSpace::scaled(std::size_t gene, double coordinate, double factor) const {
  if (!genes_[gene].ordered) return coordinate;
  const std::vector<Values>& choices = choices_[gene];
  if (!choices.empty()) {
    const double one = 1 / static_cast<double>(choices.size());
    return std::clamp(coordinate + (factor > 1 ? one : -one), one / 2, 1 - one / 2);
  }
  const double value = values(gene, coordinate).front().as_double();
  const auto& distribution = *sweep_.axes[groups_[gene].front()].distribution;
  return std::clamp(probability_below(distribution, value * factor), 0.0, 1.0);
}

std::optional<Chosen> GeneSpace::configuration(const std::vector<double>& genes) {
  Chosen found(sweep_.axes.size());
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const Values all = values(group, genes[group]);
    for (std::size_t i = 0; i < groups_[group].size(); ++i)
      found[groups_[group][i]] = all[i];
  }
  Combination combination = combination_of(found);
  conditions_.apply(combination);
  if (!constraints_.keep(combination)) return std::nullopt;
  return chosen(combination);
}

double Dice::uniform() {
  return jobspec::uniform(seed_, number_, drawn_++);
}

/// Box and Muller's.
double Dice::normal() {
  const double radius = uniform();
  return std::sqrt(-2 * std::log(radius)) * std::cos(2 * std::numbers::pi * uniform());
}

std::size_t Dice::below(std::size_t size) {
  return std::min(static_cast<std::size_t>(uniform() * static_cast<double>(size)), size - 1);
}

}  // namespace thalweg::jobspec
