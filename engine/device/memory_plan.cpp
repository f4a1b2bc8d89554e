#include "engine/device/memory_plan.h"

#include <algorithm>
#include <numeric>

#include "engine/tensor/buffer.h"

namespace thalweg::engine {

MemoryPlan plan_memory(const std::vector<Lifetime>& tensors) {
  std::vector<std::size_t> by_size(tensors.size());
  std::iota(by_size.begin(), by_size.end(), std::size_t{0});
  std::stable_sort(by_size.begin(), by_size.end(), [&](std::size_t a, std::size_t b) {
    return tensors[a].bytes > tensors[b].bytes;
  });
  MemoryPlan plan;
  plan.offsets.resize(tensors.size());
  std::vector<std::size_t> placed;  // by offset
  for (const std::size_t t : by_size) {
    std::size_t offset = 0;
    for (const std::size_t other : placed) {
      const bool together =
          tensors[t].first <= tensors[other].last && tensors[other].first <= tensors[t].last;
      if (!together) continue;
      if (offset + tensors[t].bytes <= plan.offsets[other]) break;
      offset =
          std::max(offset, plan.offsets[other] + round_up(tensors[other].bytes, alignment_bytes));
    }
    plan.offsets[t] = offset;
    plan.bytes = std::max(plan.bytes, offset + round_up(tensors[t].bytes, alignment_bytes));
    placed.insert(std::upper_bound(placed.begin(), placed.end(), t,
                                   [&](std::size_t a, std::size_t b) {
                                     return plan.offsets[a] < plan.offsets[b];
                                   }),
                  t);
  }
  return plan;
}

}  // namespace thalweg::engine
