// Powers of two among ranks: where their number is none, some neighbours stand together.
#pragma once

#include <bit>

namespace thalweg::engine::comm {

/// P = the largest power of two up to W. The first 2 (W - P) ranks form pairs: the even one hands
/// what it has to the odd one, which takes part in the steps for both. So there are P positions, in
/// the order of the ranks.
struct Fold {
  int power;     ///< positions
  int extra;     ///< pairs
  int position;  ///< of this rank's pair

  Fold(int rank, int ranks)
      : power(static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)))),
        extra(ranks - power),
        position(rank < 2 * extra ? rank / 2 : rank - extra),
        paired_(rank < 2 * extra),
        odd_(rank % 2 != 0) {}
  /// Hands its vector to the rank above.
  bool gives() const { return paired_ && !odd_; }
  /// Works for the rank below too.
  bool takes() const { return paired_ && odd_; }
  /// Who takes part in the steps.
  int rank_at(int p) const { return p < extra ? 2 * p + 1 : p + extra; }
  /// First rank that position `p` works for; for P: the number of ranks.
  int first_rank(int p) const { return p < extra ? 2 * p : p + extra; }

 private:
  bool paired_, odd_;
};

}  // namespace thalweg::engine::comm
