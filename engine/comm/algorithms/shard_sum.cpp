#include "engine/comm/algorithms/shard_sum.h"

#include <algorithm>
#include <cstring>

namespace thalweg::engine::comm {
namespace {

// Below this a second round of messages costs more than sending the whole vector to everybody.
constexpr std::size_t kWholeUpToBytes = 4096;
// Slices begin on a cache line (16 floats), so that additions stay aligned.
constexpr std::size_t kSliceGrain = 16;

struct Slice {
  std::size_t begin;
  std::size_t count;
  std::size_t bytes() const { return count * sizeof(float); }
};

/// The part of the vector that `rank` adds up: all of it where the vector is short.
Slice slice_of(int rank, int ranks, std::size_t count, bool sliced) {
  if (!sliced) return {0, count};
  const auto n = static_cast<std::size_t>(ranks);
  const auto r = static_cast<std::size_t>(rank);
  const std::size_t grains = (count + kSliceGrain - 1) / kSliceGrain;
  const std::size_t begin = std::min(count, grains * r / n * kSliceGrain);
  const std::size_t end = std::min(count, grains * (r + 1) / n * kSliceGrain);
  return {begin, end - begin};
}

}  // namespace

Task shard_sum(const Link& link, std::shared_ptr<const ShardTree> tree, std::vector<float*> mine,
               std::size_t count) {
  const int me = link.rank(), ranks = link.size();
  run(tree->local, mine.data(), count);
  if (ranks == 1 || count == 0) co_return;

  const bool sliced = count * sizeof(float) > kWholeUpToBytes;
  const auto slice = [&](int rank) { return slice_of(rank, ranks, count, sliced); };
  const Slice own = slice(me);
  const int first_leaf = tree->first_leaf;
  const auto value = [&](const ShardTree::Partial& partial) {
    return mine[static_cast<std::size_t>(partial.leaf - first_leaf)];
  };

  const auto others = std::count_if(tree->partials.begin(), tree->partials.end(),
                                    [&](const auto& p) { return p.rank != me; });
  const auto scratch = link.scratch(static_cast<std::size_t>(others) * own.bytes());
  float* free = scratch.as<float>();
  std::vector<float*> places;
  Messages partials(link);
  for (const auto& partial : tree->partials) {
    if (partial.rank == me) {
      places.push_back(value(partial) + own.begin);
      continue;
    }
    places.push_back(free);
    partials.receive(partial.rank, free, own.bytes());
    free += own.count;
  }
  // Posted early: where a slice arrives, nothing is read any more by the time it can come.
  Messages slices(link.phase(1));
  for (int r = 0; sliced && r < ranks; ++r) {
    if (r != me) slices.receive(r, mine[0] + slice(r).begin, slice(r).bytes());
  }
  // Starting above oneself, so that not all ranks send to rank 0 first.
  for (int step = 1; step < ranks; ++step) {
    const int to = (me + step) % ranks;
    for (const auto& partial : tree->partials) {
      if (partial.rank != me) continue;
      partials.send(to, value(partial) + slice(to).begin, slice(to).bytes());
    }
  }
  co_await partials;

  run(tree->across, places.data(), own.count);
  float* result = mine[0] + own.begin;
  if (places[0] != result) std::memcpy(result, places[0], own.bytes());
  if (!sliced) co_return;
  for (int step = 1; step < ranks; ++step) {
    slices.send((me + step) % ranks, result, own.bytes());
  }
  co_await slices;
}

}  // namespace thalweg::engine::comm
