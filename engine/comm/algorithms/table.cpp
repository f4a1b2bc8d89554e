#include "engine/comm/algorithms/table.h"

#include <cstdint>

namespace thalweg::engine::comm {
namespace {

constexpr std::size_t kAny = SIZE_MAX;

constexpr AllreduceRow kAllreduce[] = {
    {"recursive_doubling", "short vectors: fewest steps", "ceil(log2 W) (+2 unless W = 2^k)",
     "n ceil(log2 W)", 16 * 1024, allreduce_recursive_doubling},
    {"ring", "long vectors: fewest bytes", "2 (W - 1)", "2 n (W - 1) / W", kAny, allreduce_ring},
};

}  // namespace

std::span<const AllreduceRow> allreduce_table() {
  return kAllreduce;
}

const AllreduceRow* find_allreduce(std::string_view name) {
  for (const auto& row : kAllreduce) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

const AllreduceRow& choose_allreduce(std::size_t bytes) {
  for (const auto& row : kAllreduce) {
    if (bytes <= row.auto_up_to) return row;
  }
  return kAllreduce[std::size(kAllreduce) - 1];
}

std::vector<std::size_t> segments(std::size_t count, Type type, int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  std::vector<std::size_t> starts(n + 1);
  for (std::size_t r = 0; r <= n; ++r) {
    // count / n and its remainder apart: count * r could overflow.
    starts[r] = (count / n * r + count % n * r / n) * size_of(type);
  }
  return starts;
}

}  // namespace thalweg::engine::comm
