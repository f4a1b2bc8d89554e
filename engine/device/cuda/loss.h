// What the losses share: sums over a shard's rows.
#pragma once

#include "engine/device/cuda/builder.h"

namespace thalweg::engine::cuda {

/// What a row of a loss brings: the loss's part, then those of ShardResult::sums.
struct LossSums {
  double of[1 + most_sums];
};

/// result = the sum of `rows` LossSums at `sums` (Builder::scratch), in an order that depends on
/// `rows` alone.
void add_up_loss(const Frame& frame, TensorId sums, std::int64_t rows, TensorId result);

}  // namespace thalweg::engine::cuda
