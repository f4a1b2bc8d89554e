// Richtmyer's sequence: each coordinate goes on by the square root of its own prime number, around
// a circle, from a place that the seed draws (Richtmyer 1951). All in whole numbers, so that the
// millionth point is as exact as the first.
#include <cmath>

#include "jobspec/hash.h"
#include "jobspec/random.h"
#include "jobspec/search/low_discrepancy.h"
#include "jobspec/search/search.h"

namespace thalweg::jobspec {
namespace {

/// A part of the circle, in units of 2^-64.
std::uint64_t on_circle(double part) {
  return static_cast<std::uint64_t>((part - std::floor(part)) * 0x1p64);
}

Draw shifted_richtmyer(const Sweep& sweep, const Groups& groups) {
  struct Walk {
    std::uint64_t start, step;
  };
  std::vector<Walk> walks;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::uint64_t stream = hash128("richtmyer " + sweep.axes[groups[g].front()].name)[0];
    walks.push_back({on_circle(uniform(sweep.seed, 0, stream)),
                     on_circle(std::sqrt(static_cast<double>(prime_number(g))))});
  }
  return [walks](std::uint64_t number, std::size_t group) {
    const std::uint64_t place = walks[group].start + number * walks[group].step;
    return (static_cast<double>(place >> 12) + 0.5) * 0x1p-52;
  };
}

}  // namespace

namespace search {

SearchMethod richtmyer() {
  return {"richtmyer", "run_cap points of Richtmyer's sequence, even at any run_cap",
          "kronecker weyl additiverecurrence rsequence", shifted_richtmyer};
}

}  // namespace search
}  // namespace thalweg::jobspec
