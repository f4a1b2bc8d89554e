// What the losses share: sums over slices of a shard.
#pragma once

#include "engine/device/cuda/builder.h"
#include "engine/gpu/loops.h"

namespace thalweg::engine::cuda {

/// What a slice of a shard brings: the loss's part, then those of ShardResult::sums.
struct LossSums {
  double of[1 + max_sums];
};

/// `n` things in slices of `size`, the last one perhaps shorter; follows from n alone.
struct Slices {
  std::int64_t size = 1, count = 0;
};

/// At least `least` things in a slice, and no more slices than are quickly added up.
Slices slices_of(std::int64_t n, std::int64_t least);

/// Every thread brings its own sums; the block's are written to `to`.
THALWEG_HOST_DEVICE inline void write_sums(gpu::ThreadBlock block,
                                           const double (&mine)[1 + max_sums], LossSums* to) {
  LossSums all{};
  for (std::size_t k = 0; k < 1 + max_sums; ++k)
    all.of[k] = block.sum(mine[k]);
  if (block.rank() == 0) *to = all;
}

/// result = the sum of `slices` LossSums at `sums` (Builder::scratch), in an order that depends on
/// `slices` alone.
void add_up_loss(gpu::Stream& stream, const LossSums* sums, std::int64_t slices, double* result);
inline void add_up_loss(const Frame& frame, TensorId sums, std::int64_t slices, TensorId result) {
  add_up_loss(frame.stream, frame.as<LossSums>(sums), slices, frame.as<double>(result));
}

}  // namespace thalweg::engine::cuda
