// What parameters of a sweep have to do with each other: `zip`, `when` and `constraint`, with names
// looked up once.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "jobspec/sweep.h"

namespace thalweg::jobspec {

/// One value per axis, nullptr where `when` leaves the axis out.
using Combination = std::vector<const Value*>;

/// A constraint that cannot be computed, or that too few combinations keep.
struct BadConstraint : std::runtime_error {
  BadConstraint(Place at, const std::string& message, std::string remedy)
      : std::runtime_error(message), place(at), hint(std::move(remedy)) {}
  Place place;
  std::string hint;
};

/// Whether a condition on `a` holds of `b`: 1 is 1.0.
bool same(const Value& a, const Value& b);

/// The number of axes where there is none of this name.
std::size_t axis_index(const Sweep& sweep, const std::string& name);

/// Axes that advance together; most groups are one axis.
using Groups = std::vector<std::vector<std::size_t>>;
Groups groups_of(const Sweep& sweep);

/// Valid as long as the sweep is.
class Conditions {
 public:
  explicit Conditions(const Sweep& sweep);
  /// Sets the axes that are left out to nullptr.
  void apply(Combination& combination) const;

 private:
  struct Rule {
    std::size_t axis, on;
    bool on_axis;
    const Value* fixed;
    const std::vector<Value>* values;
  };
  std::vector<Rule> rules_;
};

/// Valid as long as the sweep is. Not thread-safe.
class Constraints {
 public:
  explicit Constraints(const Sweep& sweep);
  /// Throws BadConstraint.
  bool keep(const Combination& combination);

 private:
  struct Rule {
    const Constraint* constraint;
    std::vector<const Value*> values;
    std::vector<std::pair<std::size_t, std::size_t>> varied;  ///< place in values, axis
  };
  std::vector<Rule> rules_;
};

}  // namespace thalweg::jobspec
