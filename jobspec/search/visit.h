// Going through combinations: all of them, or as a method draws them.
#pragma once

#include <cstdint>
#include <functional>

#include "jobspec/relations.h"
#include "jobspec/search/search.h"

namespace thalweg::jobspec {

using Visit = std::function<bool(std::int64_t, const Combination&)>;

/// See for_each_combination(). Both throw BadConstraint.
void visit_listed(const Sweep& sweep, const Visit& visit);
/// sweep.run_cap draws that keep the constraints.
void visit_drawn(const Sweep& sweep, const SearchMethod& method, const Visit& visit);

/// Groups with an axis of `each`, and those that are drawn.
Groups each_groups(const Sweep& sweep);
Groups drawn_groups(const Sweep& sweep);

/// Draw of `random`, and of the first configurations of methods that learn.
Draw independent_draws(const Sweep& sweep, const Groups& groups);

/// `count` configurations that random search with another seed draws.
void draw_others(const Sweep& sweep, std::uint64_t seed, std::int64_t count,
                 const std::function<bool(Chosen)>& visit);

}  // namespace thalweg::jobspec
