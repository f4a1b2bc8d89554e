// The configurations of a random search as points, and configurations near a given one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "jobspec/gaussian_process.h"
#include "jobspec/relations.h"
#include "jobspec/sweep.h"

namespace thalweg::jobspec {

/// One value per axis, nothing where `when` leaves the axis out.
using Chosen = std::vector<std::optional<Value>>;

Chosen chosen(const Combination& combination);
Combination combination_of(const Chosen& values);

/// How probable a smaller draw is, from 0 to 1: of a value that several draws give, the middle.
double probability_below(const Distribution& distribution, double value);

/// An axis as coordinates from 0 to 1: of a range, the probability of a smaller draw (so what a
/// distribution spreads evenly, as log_uniform_values the logarithm, is even here); of listed
/// numbers their rank; of other listed values one coordinate each.
class Coordinates {
 public:
  explicit Coordinates(const Axis& axis);

  /// `value`: nullptr where the axis is left out.
  void append(const Value* value, Point& point) const;
  /// A value this far from that one along the coordinate, turned back at its ends. Nothing where
  /// values have no order.
  std::optional<Value> moved(const Value& value, double distance) const;

 private:
  double rank(double value) const;

  const Axis& axis_;
  std::vector<Value> values_;  ///< that are listed, each once
  bool ordered_ = false;
};

/// Valid as long as the sweep is.
class SearchSpace {
 public:
  explicit SearchSpace(const Sweep& sweep);

  Point of(const Combination& combination) const;
  Point of(const Value& parameters) const;
  Chosen values(const Value& parameters) const;

  /// About half of the parameters keep their values, one at least is chosen anew: numbers move by a
  /// thousandth to a fifth of their range, all scales alike; other values, and zipped ones as a
  /// group, are drawn. Nothing where a constraint breaks. A pure function of its arguments and the
  /// sweep; throws BadConstraint.
  std::optional<Chosen> near(const Chosen& centre, std::uint64_t seed, std::uint64_t number);

 private:
  Combination taken_from(const Value& parameters) const;

  const Sweep& sweep_;
  Conditions conditions_;
  Constraints constraints_;
  Groups groups_;
  std::vector<Coordinates> axes_;
};

}  // namespace thalweg::jobspec
