// A draw depends on the seed, its number and the axis' name alone: a larger run_cap keeps the first
// ones, and another parameter changes none of the others.
#include "jobspec/random.h"

#include "jobspec/hash.h"
#include "jobspec/search/search.h"
#include "jobspec/search/visit.h"

namespace thalweg::jobspec {

Draw independent_draws(const Sweep& sweep, const Groups& groups) {
  std::vector<std::uint64_t> streams;
  for (const auto& group : groups)
    streams.push_back(hash128(sweep.axes[group.front()].name)[0]);
  return [seed = sweep.seed, streams](std::uint64_t number, std::size_t group) {
    return uniform(seed, number, streams[group]);
  };
}

namespace search {

SearchMethod random() {
  return {"random", "run_cap independent draws",
          "randomsearch rand randomized sampling uniform montecarlo", independent_draws};
}

}  // namespace search
}  // namespace thalweg::jobspec
