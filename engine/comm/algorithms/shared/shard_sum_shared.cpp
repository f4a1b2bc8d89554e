#include "engine/comm/algorithms/shared/shard_sum_shared.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "engine/comm/algorithms/shard_sum.h"
#include "engine/comm/algorithms/shared/control_block.h"
#include "engine/comm/algorithms/shared/sums.h"

namespace thalweg::engine::comm {
namespace {

// As in shared.cpp: floats between two looks at other operations, and in a cache line.
constexpr std::size_t kSummedBytes = 128 * 1024;
constexpr std::size_t kGrain = 16;
// Places that fit into a posting itself.
constexpr std::size_t kInlinePlaces = ControlBlock::kInline / sizeof(Regions::Place);

class SharedSum {
 public:
  SharedSum(const Link& link, std::shared_ptr<const ShardTree> tree, std::vector<float*> mine,
            std::size_t count)
      : link_(link),
        control_block_(*link.control_block()),
        shared_tree_(std::move(tree)),
        tree_(*shared_tree_),
        mine_(std::move(mine)),
        count_(count),
        max_(max_partials()) {
    small_ = max_ * count * sizeof(float) <= control_block_.small_limit(Collective::allreduce);
    sequence_ = control_block_.open(
        {count, sizeof(float), Signature::kShardSum, static_cast<std::uint32_t>(tree_.shards)},
        small_ ? ControlBlock::Uses::eager : ControlBlock::Uses::nothing);
  }
  Task run();

 private:
  Task post_all();
  /// `in_place` tells whether it could.
  Task run_in_place(bool& in_place);
  /// Of one rank.
  std::size_t max_partials() const {
    std::vector<std::size_t> owned(static_cast<std::size_t>(control_block_.size()));
    for (const auto& partial : tree_.partials) {
      ++owned[static_cast<std::size_t>(partial.rank)];
    }
    return *std::max_element(owned.begin(), owned.end());
  }
  float* value(const ShardTree::Partial& partial) const {
    return mine_[static_cast<std::size_t>(partial.leaf - tree_.first_leaf)];
  }
  /// A rank without leaves has no window for the sum.
  bool everybody_owns() const {
    std::set<int> owners;
    for (const auto& partial : tree_.partials)
      owners.insert(partial.rank);
    return owners.size() == static_cast<std::size_t>(control_block_.size());
  }
  bool find_places();
  bool find_windows();

  const Link& link_;
  ControlBlock& control_block_;
  std::shared_ptr<const ShardTree> shared_tree_;
  const ShardTree& tree_;
  std::vector<float*> mine_;
  std::size_t count_;
  std::size_t max_;  ///< partial sums of a rank
  bool small_;
  ControlBlock::Sequence sequence_;
  std::vector<Regions::Place> places_;  ///< of this rank's partial sums
  std::vector<float*> windows_;         ///< of all partial sums, in leaf order
  std::vector<float*> into_;            ///< by rank: where the sum ends
};

Task SharedSum::post_all() {
  comm::run(tree_.local, mine_.data(), count_);
  ControlBlockUntil free(control_block_, sequence_,
                         [this] { return control_block_.may_post(sequence_); });
  co_await free;
  auto* room = reinterpret_cast<float*>(control_block_.eager(sequence_, control_block_.rank()));
  for (const auto& partial : tree_.partials) {
    if (partial.rank != control_block_.rank()) continue;
    if (count_ > 0) std::memcpy(room, value(partial), count_ * sizeof(float));
    room += count_;
  }
  control_block_.post(sequence_, nullptr, 0);
  ControlBlockUntil posted(control_block_, sequence_,
                           [this] { return control_block_.all_posted(sequence_); });
  co_await posted;

  std::vector<const float*> sources;
  std::size_t number = 0;
  for (std::size_t i = 0; i < tree_.partials.size(); ++i) {
    const int rank = tree_.partials[i].rank;
    number = i > 0 && rank == tree_.partials[i - 1].rank ? number + 1 : 0;
    sources.push_back(reinterpret_cast<const float*>(control_block_.eager(sequence_, rank)) +
                      number * count_);
  }
  float* const into[] = {mine_[0]};
  reduce_tree(into, sources, tree_.across, count_);
  control_block_.close(sequence_);
}

/// False where a partial sum of this rank's is in no region.
bool SharedSum::find_places() {
  for (const auto& partial : tree_.partials) {
    if (partial.rank != control_block_.rank()) continue;
    places_.push_back(control_block_.find(value(partial), count_ * sizeof(float)));
    if (places_.back().id == 0) return false;
  }
  return true;
}

bool SharedSum::find_windows() {
  into_.assign(static_cast<std::size_t>(control_block_.size()), nullptr);
  std::size_t number = 0;
  for (std::size_t i = 0; i < tree_.partials.size(); ++i) {
    const int rank = tree_.partials[i].rank;
    number = i > 0 && rank == tree_.partials[i - 1].rank ? number + 1 : 0;
    Regions::Place place;
    std::memcpy(&place, control_block_.inlined(sequence_, rank),
                sizeof place);  // the first of a rank
    if (place.id == 0) return false;
    if (max_ > kInlinePlaces) {
      place = control_block_.places(sequence_, rank)[number];
    } else {
      std::memcpy(&place,
                  static_cast<const std::byte*>(control_block_.inlined(sequence_, rank)) +
                      number * sizeof place,
                  sizeof place);
    }
    windows_.push_back(reinterpret_cast<float*>(control_block_.at(rank, place)));
    if (number == 0) into_[static_cast<std::size_t>(rank)] = windows_.back();
  }
  return true;
}

Task SharedSum::run_in_place(bool& in_place) {
  if (max_ > ControlBlock::kPlaces || !everybody_owns() || !find_places()) places_.assign(1, {});
  ControlBlockUntil free(control_block_, sequence_,
                         [this] { return control_block_.may_post(sequence_); });
  co_await free;
  if (places_.size() > kInlinePlaces) {
    std::copy(places_.begin(), places_.end(),
              control_block_.places(sequence_, control_block_.rank()));
  }
  control_block_.post(sequence_, places_.data(),
                      std::min(places_.size(), kInlinePlaces) * sizeof(Regions::Place));
  ControlBlockUntil posted(control_block_, sequence_,
                           [this] { return control_block_.all_posted(sequence_); });
  co_await posted;
  in_place = everybody_owns() && find_windows();
  if (!in_place) {
    control_block_.close(sequence_);
    co_return;
  }
  std::uint32_t stage = 0;
  if (tree_.partials.size() < static_cast<std::size_t>(tree_.shards)) {
    comm::run(tree_.local, mine_.data(), count_);
    control_block_.set_stage(sequence_, ++stage);
    ControlBlockUntil added(control_block_, sequence_,
                            [this] { return control_block_.all_at(sequence_, 1); });
    co_await added;
  }
  const std::size_t grains = (count_ + kGrain - 1) / kGrain;
  const std::size_t begin =
      std::min(count_, first_of(grains, control_block_.size(), control_block_.rank()) * kGrain);
  const std::size_t end =
      std::min(count_, first_of(grains, control_block_.size(), control_block_.rank() + 1) * kGrain);
  std::vector<const float*> sources(windows_.size());
  std::vector<float*> into(into_.size());
  for (std::size_t at = begin; at < end;) {
    const std::size_t n = std::min(kSummedBytes, end - at);
    std::transform(windows_.begin(), windows_.end(), sources.begin(),
                   [at](float* window) { return window + at; });
    std::transform(into_.begin(), into_.end(), into.begin(), [at](float* to) { return to + at; });
    reduce_tree(into, sources, tree_.across, n);
    at += n;
    if (at == end) break;
    Pause pause(control_block_);
    co_await pause;
  }
  control_block_.set_stage(sequence_, ++stage);
  ControlBlockUntil through(control_block_, sequence_,
                            [this, stage] { return control_block_.all_at(sequence_, stage); });
  co_await through;
  control_block_.close(sequence_);
}

Task SharedSum::run() {
  if (small_) {
    co_await post_all();
    co_return;
  }
  bool in_place = false;
  co_await run_in_place(in_place);  // takes part in the sequence in any case
  if (!in_place) co_await shard_sum(link_, shared_tree_, mine_, count_);
}

Task in_full(SharedSum sum) {
  co_await sum.run();
}

}  // namespace

Task shard_sum_shared(const Link& link, std::shared_ptr<const ShardTree> tree,
                      std::vector<float*> mine, std::size_t count) {
  // Numbered when called, not when begun (see shared.cpp).
  return in_full(SharedSum(link, std::move(tree), std::move(mine), count));
}

}  // namespace thalweg::engine::comm
