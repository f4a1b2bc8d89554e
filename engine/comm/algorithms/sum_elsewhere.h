// Vectors that the host does not add up: a GPU does.
#pragma once

#include "engine/comm/transport/transport.h"

namespace thalweg::engine::comm {

/// See Group::start_shard_sum_elsewhere.
class SumElsewhere {
 public:
  virtual ~SumElsewhere() = default;
  /// What they are stored in, as far as messages go.
  virtual MessageMemory memory() const = 0;
  /// ShardSumPlan::scratch_floats() of them, beside the vectors.
  virtual float* scratch() = 0;
  /// The places of the own slice (ShardSumPlan::places) hold what they should. True once their sum
  /// is in ShardSumPlan::result; until then called again and again. Must not block.
  virtual bool add_up() = 0;
};

}  // namespace thalweg::engine::comm
