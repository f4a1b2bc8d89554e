// Collectives on short vectors: every rank posts what it brings, and takes what it needs from the
// others' postings.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/comm/algorithms/shared/control_block.h"

namespace thalweg::engine::comm {

/// A call under way, without a coroutine and without allocations: a cache line's way between two
/// cores is 50 ns. The control block and what the arguments point to must stay.
class SmallCall {
 public:
  /// Whether the call is short enough, which all ranks see alike.
  static bool fits(const ControlBlock& control_block, Collective collective, const Arguments& a);

  SmallCall(ControlBlock& control_block, Collective collective, const Arguments& a);
  /// Goes on as far as it can. True when done.
  bool advance();
  const ControlBlock::Sequence& sequence() const { return sequence_; }

 private:
  enum class State { to_post, to_arrive, done };
  void post();
  bool arrived();
  void take();
  void reduce(std::size_t begin, std::size_t count);
  const std::byte* from(int rank) const;

  ControlBlock& control_block_;
  Collective collective_;
  Arguments a_;
  std::size_t brings_;  ///< bytes
  bool inline_;
  ControlBlock::Sequence sequence_;
  State state_ = State::to_post;
  int next_ = 0;  ///< all below have posted
};

}  // namespace thalweg::engine::comm
