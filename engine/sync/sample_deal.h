// Who computes which samples where nobody knows how many a rank will compute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace thalweg::engine {

/// Deals the shards of one global batch after another to the ranks, in hands of as many as a rank
/// computes in a pass. Every rank keeps the same account of all hands, and learns with each round
/// how many of them the others have used: so each shard is dealt once, without a message. Not
/// thread-safe.
class SampleDeal {
 public:
  using Hand = std::vector<std::int64_t>;  ///< as SampleSource::want() numbers shards

  /// `hands`: shards in a hand, by rank; their sum are the shards of a global batch. `passes`: that
  /// a rank is expected to make in a round. Shards are dealt from `first` on.
  SampleDeal(std::vector<int> hands, int passes, std::int64_t first);

  /// Hands that the rank has and was not told to have used, the oldest first: for its rounds that
  /// used() does not know yet and those to come.
  const std::deque<Hand>& of(int rank) const { return ranks_[static_cast<std::size_t>(rank)].own; }
  /// How many passes it should make in a round at most: twice as many as of late, so that hands
  /// last and a rank may still become faster.
  int most(int rank) const { return 2 * ranks_[static_cast<std::size_t>(rank)].recent; }
  /// In one more round each rank has used so many of its hands, the oldest. Deals new ones.
  void used(const std::vector<int>& passes);

  /// For a checkpoint, between two rounds that all ranks know.
  std::vector<double> state() const;
  /// Those of other ranks' hands that were not used are dealt first. Returns where state() ends.
  /// Throws std::invalid_argument.
  std::size_t restore(const std::vector<double>& state, std::size_t at);

 private:
  struct Rank {
    int hand = 1;    ///< shards
    int recent = 1;  ///< passes in a round, of late
    std::deque<Hand> own;
  };
  /// Enough for two rounds, as the next one is computed before all know of this one.
  static std::size_t hands_for(const Rank& rank) {
    return 4 * static_cast<std::size_t>(rank.recent);
  }
  void deal();
  std::int64_t take();

  std::vector<Rank> ranks_;
  std::int64_t next_;                  ///< shard that was not dealt yet
  std::deque<std::int64_t> returned_;  ///< those below that were, and were not used
};

}  // namespace thalweg::engine
