// A value is found among the draws of its distribution by bisecting them, so every range has
// coordinates without saying how they are computed.
#include "jobspec/search_space.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "jobspec/random.h"

namespace thalweg::jobspec {
namespace {

/// How far numbers move, as shares of their range: coarse looks around, fine ones polish.
constexpr double least_move = 1e-3, largest_move = 0.2;
constexpr double share_that_moves = 0.5;

/// Into 0 to 1, by mirrors at both ends.
double turned_back(double x) {
  x = std::fmod(std::fabs(x), 2);
  return x > 1 ? 2 - x : x;
}

}  // namespace

Chosen chosen(const Combination& combination) {
  Chosen values;
  for (const Value* value : combination)
    values.push_back(value ? std::optional(*value) : std::nullopt);
  return values;
}

Combination combination_of(const Chosen& values) {
  Combination combination;
  for (const auto& value : values)
    combination.push_back(value ? &*value : nullptr);
  return combination;
}

/// Bisects the inverse: the middle of where it gives this value (some round).
double probability_below(const Distribution& distribution, double value) {
  constexpr double least = 1e-9;
  const double first = distribution.sample(least).as_double();
  const double last = distribution.sample(1 - least).as_double();
  const bool growing = first <= last;
  const auto edge = [&](bool with) {
    double low = 0, high = 1;
    for (int i = 0; i < 40; ++i) {
      const double middle = (low + high) / 2;
      const double there = distribution.sample(middle).as_double();
      const double off = growing ? there - value : value - there;
      (off < 0 || (with && off == 0) ? low : high) = middle;
    }
    return (low + high) / 2;
  };
  if (distribution.continuous()) return edge(false);
  return (edge(false) + edge(true)) / 2;
}

Coordinates::Coordinates(const Axis& axis) : axis_(axis) {
  const auto* listed = axis.distribution->listed();
  if (!listed) return;
  values_ = *listed;
  ordered_ = std::all_of(values_.begin(), values_.end(),
                         [](const Value& value) { return value.is_number(); });
  if (ordered_)
    std::sort(values_.begin(), values_.end(),
              [](const Value& a, const Value& b) { return a.as_double() < b.as_double(); });
  values_.erase(std::unique(values_.begin(), values_.end()), values_.end());
}

void Coordinates::append(const Value* value, Point& point) const {
  if (!values_.empty() && !ordered_) {
    // Two different values are 1 apart.
    for (const Value& each : values_)
      point.push_back(value && each == *value ? 1 / std::sqrt(2.0) : 0);
  } else if (!value || !value->is_number()) {
    point.push_back(0.5);
  } else if (ordered_) {
    point.push_back(rank(value->as_double()));
  } else {
    point.push_back(probability_below(*axis_.distribution, value->as_double()));
  }
}

std::optional<Value> Coordinates::moved(const Value& value, double distance) const {
  if (!value.is_number() || (!values_.empty() && !ordered_)) return std::nullopt;
  if (ordered_) {
    const double there = turned_back(rank(value.as_double()) + distance);
    return values_[static_cast<std::size_t>(
        std::lround(there * static_cast<double>(values_.size() - 1)))];
  }
  constexpr double inside = 0x1p-53;  // a distribution's ends need not be finite
  const double there =
      turned_back(probability_below(*axis_.distribution, value.as_double()) + distance);
  return axis_.distribution->sample(std::clamp(there, inside, 1 - inside));
}

double Coordinates::rank(double value) const {
  if (values_.size() < 2) return 0.5;
  std::size_t smaller = 0;
  while (smaller + 1 < values_.size() && values_[smaller].as_double() < value)
    ++smaller;
  return static_cast<double>(smaller) / static_cast<double>(values_.size() - 1);
}

SearchSpace::SearchSpace(const Sweep& sweep)
    : sweep_(sweep), conditions_(sweep), constraints_(sweep), groups_(groups_of(sweep)) {
  for (const Axis& axis : sweep.axes)
    axes_.emplace_back(axis);
}

Point SearchSpace::of(const Combination& combination) const {
  Point point;
  for (std::size_t i = 0; i < axes_.size(); ++i)
    axes_[i].append(combination[i], point);
  return point;
}

Combination SearchSpace::taken_from(const Value& parameters) const {
  Combination combination;
  for (const Axis& axis : sweep_.axes)
    combination.push_back(parameters.find(axis.name));
  return combination;
}

Point SearchSpace::of(const Value& parameters) const {
  return of(taken_from(parameters));
}

Chosen SearchSpace::values(const Value& parameters) const {
  return chosen(taken_from(parameters));
}

std::optional<Chosen> SearchSpace::near(const Chosen& centre, std::uint64_t seed,
                                        std::uint64_t number) {
  std::uint64_t drawn = 0;
  const auto draw = [&] { return uniform(seed, number, drawn++); };
  const double scale = least_move * std::pow(largest_move / least_move, draw());
  const auto certain = static_cast<std::size_t>(draw() * static_cast<double>(groups_.size()));
  Chosen values = centre;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const double chance = draw(), radius = draw(), angle = draw();
    const bool there = std::all_of(groups_[g].begin(), groups_[g].end(),
                                   [&](std::size_t axis) { return centre[axis].has_value(); });
    if (there && g != certain && chance > share_that_moves) continue;
    // Box and Muller's normal numbers.
    const double normal = std::sqrt(-2 * std::log(radius)) * std::cos(2 * std::numbers::pi * angle);
    const std::size_t first = groups_[g].front();
    std::optional<Value> moved;
    if (there && groups_[g].size() == 1) moved = axes_[first].moved(*centre[first], scale * normal);
    if (moved == centre[first]) moved.reset();  // too short a way to the next value
    for (const std::size_t axis : groups_[g])
      values[axis] = moved ? *moved : sweep_.axes[axis].distribution->sample(radius);
  }
  Combination combination = combination_of(values);
  conditions_.apply(combination);
  if (!constraints_.keep(combination)) return std::nullopt;
  return chosen(combination);
}

}  // namespace thalweg::jobspec
