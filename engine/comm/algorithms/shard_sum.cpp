#include "engine/comm/algorithms/shard_sum.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace thalweg::engine::comm {
namespace {

// Below this a second round of messages costs more than sending the whole vector to everybody.
constexpr std::size_t kWholeUpToBytes = 4096;
// Slices begin on a cache line (16 floats), so that additions stay aligned.
constexpr std::size_t kSliceGrain = 16;

}  // namespace

ShardSum::Slice ShardSum::slice_of(int rank) const {
  if (!sliced_) return {0, count_};
  const auto ranks = static_cast<std::size_t>(transport_->size());
  const std::size_t grains = (count_ + kSliceGrain - 1) / kSliceGrain;
  const auto r = static_cast<std::size_t>(rank);
  const std::size_t begin = std::min(count_, grains * r / ranks * kSliceGrain);
  const std::size_t end = std::min(count_, grains * (r + 1) / ranks * kSliceGrain);
  return {begin, end - begin};
}

void ShardSum::start(Transport& transport, std::uint64_t tag, std::shared_ptr<const ShardTree> tree,
                     std::span<float* const> mine, std::size_t count) {
  transport_ = &transport;
  tag_ = tag;
  tree_ = std::move(tree);
  mine_.assign(mine.begin(), mine.end());
  count_ = count;
  sliced_ = count * sizeof(float) > kWholeUpToBytes;
  stage_ = Stage::done;
  run(tree_->local, mine_.data(), count);
  if (transport.size() == 1 || count == 0) return;
  stage_ = Stage::gather_partials;
  exchange_partials();
}

void ShardSum::exchange_partials() {
  const int me = transport_->rank();
  const int first_leaf = Group::first_shard(me, transport_->size(), tree_->shards);
  const Slice own = slice_of(me);
  places_.resize(tree_->partials.size());
  std::size_t others = 0;
  for (const auto& partial : tree_->partials) {
    others += partial.rank != me;
  }
  if (scratch_.size() < others * own.count) scratch_.resize(others * own.count);

  float* free = scratch_.data();
  for (std::size_t i = 0; i < tree_->partials.size(); ++i) {
    const auto& partial = tree_->partials[i];
    if (partial.rank == me) {
      places_[i] = mine_[static_cast<std::size_t>(partial.leaf - first_leaf)] + own.begin;
      continue;
    }
    places_[i] = free;
    free += own.count;
    track(transport_->receive(partial.rank, tag_, places_[i], own.count * sizeof(float)));
  }
  if (sliced_) {
    for (int r = 0; r < transport_->size(); ++r) {
      if (r == me) continue;
      const Slice theirs = slice_of(r);
      auto request =
          transport_->receive(r, tag_ + 1, mine_[0] + theirs.begin, theirs.count * sizeof(float));
      if (request) slices_.push_back(std::move(request));
    }
  }
  // Starting above oneself, so that not all ranks send to rank 0 first.
  for (int step = 1; step < transport_->size(); ++step) {
    const int to = (me + step) % transport_->size();
    const Slice theirs = slice_of(to);
    for (const auto& partial : tree_->partials) {
      if (partial.rank != me) continue;
      const float* value = mine_[static_cast<std::size_t>(partial.leaf - first_leaf)];
      track(transport_->send(to, tag_, value + theirs.begin, theirs.count * sizeof(float)));
    }
  }
}

void ShardSum::add_slice() {
  const Slice own = slice_of(transport_->rank());
  run(tree_->across, places_.data(), own.count);
  float* result = mine_[0] + own.begin;
  if (places_[0] != result) std::memcpy(result, places_[0], own.count * sizeof(float));
}

void ShardSum::exchange_slices() {
  const int me = transport_->rank();
  const Slice own = slice_of(me);
  std::swap(pending_, slices_);
  for (int step = 1; step < transport_->size(); ++step) {
    const int to = (me + step) % transport_->size();
    track(transport_->send(to, tag_ + 1, mine_[0] + own.begin, own.count * sizeof(float)));
  }
}

bool ShardSum::advance() {
  if (stage_ == Stage::gather_partials && all_arrived()) {
    add_slice();
    stage_ = sliced_ ? Stage::gather_slices : Stage::done;
    if (sliced_) exchange_slices();
  }
  if (stage_ == Stage::gather_slices && all_arrived()) stage_ = Stage::done;
  return done();
}

bool ShardSum::all_arrived() {
  while (!pending_.empty() && pending_.back()->test()) {
    pending_.pop_back();
  }
  return pending_.empty();
}

void ShardSum::track(std::unique_ptr<Request> request) {
  if (request) pending_.push_back(std::move(request));
}

void ShardSum::abandon() {
  pending_.clear();
  slices_.clear();
  stage_ = Stage::done;
}

}  // namespace thalweg::engine::comm
