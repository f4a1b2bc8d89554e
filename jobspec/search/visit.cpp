// Odometers over listed values, and draws beside them.
#include "jobspec/search/visit.h"

#include <fmt/format.h>

#include <algorithm>

#include "jobspec/cancellation.h"

namespace thalweg::jobspec {
namespace {

/// Draws in a row that break a constraint, before a search is given up.
constexpr std::int64_t max_refused = 10'000;

/// Goes through the values of some groups of axes, the last one fastest.
class Odometer {
 public:
  Odometer(const Sweep& sweep, Groups groups)
      : groups_(std::move(groups)), digits_(groups_.size()) {
    values_.resize(sweep.axes.size());
    for (const auto& group : groups_) {
      for (const std::size_t axis : group) {
        values_[axis] = sweep.axes[axis].distribution->grid().value_or(std::vector<Value>{});
        empty_ = empty_ || values_[axis].empty();
      }
    }
  }

  bool empty() const { return empty_; }

  void put(Combination& combination) const {
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      for (const std::size_t axis : groups_[g])
        combination[axis] = &values_[axis][digits_[g]];
    }
  }

  /// Whether the combination, with axes left out, has come before.
  bool repeats(const Combination& combination) const {
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const bool left_out = std::all_of(groups_[g].begin(), groups_[g].end(),
                                        [&](std::size_t axis) { return !combination[axis]; });
      if (left_out && digits_[g] > 0) return true;
    }
    return false;
  }

  /// False after the last combination: it stands at the first one again.
  bool next() {
    std::size_t g = groups_.size();
    while (g > 0 && ++digits_[g - 1] == values_[groups_[g - 1].front()].size())
      digits_[--g] = 0;
    return g > 0;
  }

 private:
  Groups groups_;
  std::vector<std::size_t> digits_;
  std::vector<std::vector<Value>> values_;
  bool empty_ = false;
};

Groups groups_where(const Sweep& sweep, bool each) {
  Groups groups = groups_of(sweep);
  std::erase_if(groups, [&](const std::vector<std::size_t>& group) {
    return each == std::none_of(group.begin(), group.end(), [&](std::size_t axis) {
             const auto& named = sweep.each;
             return std::find(named.begin(), named.end(), sweep.axes[axis].name) != named.end();
           });
  });
  return groups;
}

}  // namespace

Groups each_groups(const Sweep& sweep) {
  return groups_where(sweep, true);
}

Groups drawn_groups(const Sweep& sweep) {
  return groups_where(sweep, false);
}

void visit_listed(const Sweep& sweep, const Visit& visit) {
  const Conditions conditions(sweep);
  Constraints constraints(sweep);
  Odometer odometer(sweep, groups_of(sweep));
  if (odometer.empty()) return;
  Combination combination(sweep.axes.size());
  std::int64_t index = 0;
  Pace pace;
  do {
    pace.step();
    odometer.put(combination);
    conditions.apply(combination);
    if (odometer.repeats(combination) || !constraints.keep(combination)) continue;
    if (!visit(index++, combination)) return;
  } while (odometer.next());
  if (index == 0)
    throw BadConstraint(sweep.constraints.front().place, "found no combination that keeps it",
                        "loosen it, or add values to parameters");
}

void visit_drawn(const Sweep& sweep, const SearchMethod& method, const Visit& visit) {
  const Conditions conditions(sweep);
  Constraints constraints(sweep);
  const Groups drawn = drawn_groups(sweep);
  const Draw draw = method.draw(sweep, drawn);
  Odometer each(sweep, each_groups(sweep));
  std::vector<Value> values(sweep.axes.size());
  Combination combination(sweep.axes.size());
  std::int64_t index = 0, kept = 0, refused = 0;
  const std::int64_t count = sweep.axes.empty() ? 1 : sweep.run_cap;
  Pace pace;
  for (std::int64_t number = 0; kept < count && refused < max_refused; ++number) {
    for (std::size_t g = 0; g < drawn.size(); ++g) {
      const double u = draw(static_cast<std::uint64_t>(number), g);
      // Axes of a group draw the same number, so they stay together.
      for (const std::size_t axis : drawn[g])
        values[axis] = sweep.axes[axis].distribution->sample(u);
    }
    bool any = false;
    do {
      pace.step();
      for (std::size_t i = 0; i < sweep.axes.size(); ++i)
        combination[i] = &values[i];
      each.put(combination);
      conditions.apply(combination);
      if (each.repeats(combination) || !constraints.keep(combination)) continue;
      any = true;
      if (!visit(index++, combination)) return;
    } while (each.next());
    kept += any ? 1 : 0;
    refused = any ? 0 : refused + 1;
  }
  if (kept < count)
    throw BadConstraint(
        sweep.constraints.front().place,
        fmt::format("found {} draws in a row that break it, after {} of {} that keep it", refused,
                    kept, count),
        "loosen it, narrow parameters, or lower run_cap");
}

void draw_others(const Sweep& sweep, std::uint64_t seed, std::int64_t count,
                 const std::function<bool(Chosen)>& visit) {
  Sweep draws = sweep;
  draws.run_cap = count;
  draws.seed = seed;
  visit_drawn(
      draws, search_methods().at("random"),
      [&](std::int64_t, const Combination& combination) { return visit(chosen(combination)); });
}

}  // namespace thalweg::jobspec
