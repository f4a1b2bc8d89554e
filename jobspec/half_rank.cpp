// Ranks are looked up among the sorted values; equal values share the mean of theirs.
#include "jobspec/half_rank.h"

#include <algorithm>

namespace thalweg::jobspec {
namespace {

/// Differences so much smaller than the largest are lost in a regression's noise.
constexpr double out_of_proportion = 100;
/// Squares of what is larger are infinite.
constexpr double largest = 1e150;

/// Index of the last of the sorted values that counts as it is.
std::size_t last_as_it_is(const std::vector<double>& sorted) {
  const double best = sorted.front();
  const auto worse = static_cast<std::size_t>(std::upper_bound(sorted.begin(), sorted.end(), best) -
                                              sorted.begin());
  std::size_t last = sorted.size() / 2;
  for (;;) {
    const std::size_t middle = std::max(last / 2, worse);
    if (middle >= last || sorted[last] - best <= out_of_proportion * (sorted[middle] - best))
      return last;
    last = middle;
  }
}

}  // namespace

HalfRanked half_ranked(const std::vector<double>& values) {
  HalfRanked result{values};
  for (double& value : result.values)
    value = std::clamp(value, -largest, largest);
  std::vector<double> sorted = result.values;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t last = last_as_it_is(sorted);
  result.cut = sorted[last];
  const double spread = result.cut - sorted.front();
  for (double& value : result.values) {
    if (value <= result.cut) continue;
    const auto [first, end] = std::equal_range(sorted.begin(), sorted.end(), value);
    const double rank =
        static_cast<double>((first - sorted.begin()) + (end - sorted.begin()) - 1) / 2;
    const auto better = static_cast<double>(last);
    value =
        result.cut + spread * (rank - better) / (static_cast<double>(sorted.size()) - 1 - better);
  }
  return result;
}

}  // namespace thalweg::jobspec
