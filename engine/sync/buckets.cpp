#include "engine/sync/buckets.h"

#include <algorithm>
#include <stdexcept>

namespace thalweg::engine {
namespace {

/// Where each parameter's range of memory ends: at the next parameter's offset, or its own end.
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

/// One bucket for each run of parameters that are contiguous.
void split_into_runs(const std::vector<int>& numbers, const std::vector<ParameterInfo>& parameters,
                     const std::vector<std::size_t>& end, std::vector<Bucket>& buckets) {
  std::vector<int> in_memory = numbers;
  std::sort(in_memory.begin(), in_memory.end(), [&](int a, int b) {
    return parameters[static_cast<std::size_t>(a)].offset <
           parameters[static_cast<std::size_t>(b)].offset;
  });
  const std::size_t first_run = buckets.size();
  for (const int number : in_memory) {
    const auto p = static_cast<std::size_t>(number);
    const std::size_t offset = parameters[p].offset;
    if (buckets.size() == first_run || buckets.back().offset + buckets.back().count != offset)
      buckets.push_back({offset, 0, {}});
    buckets.back().count = end[p] - buckets.back().offset;
  }
  for (const int number : numbers) {  // in the order of backward
    const std::size_t offset = parameters[static_cast<std::size_t>(number)].offset;
    for (std::size_t b = first_run; b < buckets.size(); ++b)
      if (offset >= buckets[b].offset && offset < buckets[b].offset + buckets[b].count)
        buckets[b].parameters.push_back(number);
  }
}

}  // namespace

std::vector<Bucket> plan_buckets(const std::vector<ParameterInfo>& parameters,
                                 const std::vector<int>& ready_order, const BucketSizes& sizes) {
  if (ready_order.size() != parameters.size())
    throw std::logic_error("the ready order must name every parameter once");
  const std::vector<std::size_t> end = ends(parameters);
  std::vector<Bucket> buckets;
  std::vector<int> open;
  std::size_t first = 0, last = 0, filled = 0;
  for (const int number : ready_order) {
    const auto p = static_cast<std::size_t>(number);
    const std::size_t offset = parameters[p].offset;
    first = open.empty() ? offset : std::min(first, offset);
    last = open.empty() ? end[p] : std::max(last, end[p]);
    filled += end[p] - offset;
    open.push_back(number);
    const std::size_t limit = buckets.empty() ? sizes.first_bytes : sizes.bytes;
    if (filled * sizeof(float) < limit) continue;
    // What is missing between its parameters may have gone with an earlier bucket; otherwise it is
    // still to come, and is waited for.
    std::size_t gone = 0;
    for (const Bucket& bucket : buckets)
      if (bucket.offset >= first && bucket.offset < last) gone += bucket.count;
    if (filled + gone != last - first) continue;
    split_into_runs(open, parameters, end, buckets);
    open.clear();
    filled = 0;
  }
  split_into_runs(open, parameters, end, buckets);
  return buckets;
}

// FNV-1a over 64-bit words.
std::uint64_t hash_of(const std::vector<Bucket>& buckets) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto add = [&](std::uint64_t word) { hash = (hash ^ word) * 0x100000001b3u; };
  for (const Bucket& bucket : buckets) {
    add(bucket.offset);
    add(bucket.count);
    for (const int parameter : bucket.parameters)
      add(static_cast<std::uint64_t>(parameter));
  }
  return hash;
}

}  // namespace thalweg::engine
