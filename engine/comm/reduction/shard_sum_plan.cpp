#include "engine/comm/reduction/shard_sum_plan.h"

#include <algorithm>

namespace thalweg::engine::comm {
namespace {

// Below this a second round of messages costs more than sending the whole vector to everybody.
constexpr std::size_t kWholeUpToBytes = 4096;
// Slices begin on a cache line (16 floats), so that additions stay aligned.
constexpr std::size_t kSliceGrain = 16;

std::size_t grains_of(std::size_t count) {
  return (count + kSliceGrain - 1) / kSliceGrain;
}

struct Slice {
  std::size_t begin;
  std::size_t count;
};

bool is_sliced(std::size_t count) {
  return count * sizeof(float) > kWholeUpToBytes;
}

/// The part of the vector that `rank` adds up: all of it where the vector is short.
Slice slice_of(int rank, int ranks, std::size_t count) {
  if (!is_sliced(count)) return {0, count};
  const auto n = static_cast<std::size_t>(ranks);
  const auto r = static_cast<std::size_t>(rank);
  const std::size_t grains = grains_of(count);
  const std::size_t begin = std::min(count, grains * r / n * kSliceGrain);
  const std::size_t end = std::min(count, grains * (r + 1) / n * kSliceGrain);
  return {begin, end - begin};
}

}  // namespace

ShardSumPlan::ShardSumPlan(const ShardTree& tree, int rank, int ranks, std::span<float* const> mine,
                           std::size_t floats, float* scratch) {
  const Slice own = slice_of(rank, ranks, floats);
  result = mine[0] + own.begin;
  count = own.count;
  const auto value = [&](const ShardTree::Partial& partial) {
    return mine[static_cast<std::size_t>(partial.leaf - tree.first_leaf)];
  };
  const auto add = [](std::vector<Message>& to, int peer, float* data, std::size_t length) {
    if (length > 0) to.push_back({peer, data, length});
  };
  std::vector<float*> values;
  for (const ShardTree::Partial& partial : tree.partials) {
    if (partial.rank == rank) {
      places.push_back(value(partial) + own.begin);
      values.push_back(value(partial));
      continue;
    }
    places.push_back(scratch);
    add(receive, partial.rank, scratch, own.count);
    scratch += grains_of(own.count) * kSliceGrain;
  }
  // Starting above oneself, so that not all ranks send to rank 0 first.
  for (int step = 1; step < ranks; ++step) {
    const int to = (rank + step) % ranks;
    const Slice theirs = slice_of(to, ranks, floats);
    for (float* const partial : values)
      add(send, to, partial + theirs.begin, theirs.count);
  }
  for (int step = 1; is_sliced(floats) && step < ranks; ++step) {
    const int other = (rank + step) % ranks;
    const Slice theirs = slice_of(other, ranks, floats);
    add(send_slices, other, result, own.count);
    add(receive_slices, other, mine[0] + theirs.begin, theirs.count);
  }
}

std::size_t ShardSumPlan::scratch_floats(const ShardTree& tree, int rank, int ranks,
                                         std::size_t count) {
  const auto others = std::count_if(tree.partials.begin(), tree.partials.end(),
                                    [&](const auto& partial) { return partial.rank != rank; });
  return static_cast<std::size_t>(others) * grains_of(slice_of(rank, ranks, count).count) *
         kSliceGrain;
}

}  // namespace thalweg::engine::comm
