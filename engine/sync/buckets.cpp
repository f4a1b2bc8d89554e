#include "engine/sync/buckets.h"

#include <algorithm>
#include <stdexcept>

namespace thalweg::engine {
namespace {

/// Where each parameter's stretch of memory ends: at the next parameter's offset, or its own end.
std::vector<std::size_t> ends(const std::vector<ParameterInfo>& parameters) {
  std::vector<std::size_t> starts;
  for (const ParameterInfo& p : parameters)
    starts.push_back(p.offset);
  std::sort(starts.begin(), starts.end());
  std::vector<std::size_t> result;
  for (const ParameterInfo& p : parameters) {
    const auto next = std::upper_bound(starts.begin(), starts.end(), p.offset);
    result.push_back(next == starts.end() ? p.offset + p.count : *next);
  }
  return result;
}

}  // namespace

std::vector<Bucket> plan_buckets(const std::vector<ParameterInfo>& parameters,
                                 const std::vector<int>& ready_order, const BucketSizes& sizes) {
  if (ready_order.size() != parameters.size())
    throw std::logic_error("the ready order must name every parameter once");
  const std::vector<std::size_t> end = ends(parameters);
  std::vector<Bucket> buckets;
  Bucket open;
  std::size_t first = 0, last = 0, filled = 0;
  for (const int number : ready_order) {
    const auto p = static_cast<std::size_t>(number);
    const std::size_t offset = parameters[p].offset;
    first = open.parameters.empty() ? offset : std::min(first, offset);
    last = open.parameters.empty() ? end[p] : std::max(last, end[p]);
    filled += end[p] - offset;
    open.parameters.push_back(number);
    const bool together = filled == last - first;
    const std::size_t limit = buckets.empty() ? sizes.first_bytes : sizes.bytes;
    if (!together || filled * sizeof(float) < limit) continue;
    open.offset = first;
    open.count = last - first;
    buckets.push_back(std::move(open));
    open = {};
    filled = 0;
  }
  if (!open.parameters.empty()) {
    open.offset = first;
    open.count = last - first;
    buckets.push_back(std::move(open));
  }
  return buckets;
}

}  // namespace thalweg::engine
