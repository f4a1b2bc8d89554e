// Batches that stand in one range of memory (tensor/batch_layout.h), as executors take them.
#pragma once

#include <cstddef>

#include "engine/device/executor.h"
#include "engine/tensor/batch_layout.h"

namespace thalweg::engine {

/// Where micro-batch `micro_batch` stands, full of samples; no labels_b where the layout has no
/// room for them.
inline Batch batch_at(const BatchLayout& layout, const std::byte* memory, std::size_t micro_batch) {
  const auto at = [&](BatchLayout::Part part) {
    return memory + layout.micro_batch(part, micro_batch);
  };
  Batch batch;
  batch.inputs = reinterpret_cast<const float*>(at(BatchLayout::inputs));
  batch.labels = reinterpret_cast<const std::int32_t*>(at(BatchLayout::labels));
  batch.targets = reinterpret_cast<const float*>(at(BatchLayout::targets));
  batch.samples = static_cast<int>(layout.samples_per_micro_batch());
  if (layout.bytes_of_sample(BatchLayout::labels_b) == 0) return batch;
  batch.labels_b = reinterpret_cast<const std::int32_t*>(at(BatchLayout::labels_b));
  batch.shares_b = reinterpret_cast<const float*>(at(BatchLayout::shares_b));
  return batch;
}

inline const ShardKey* key_at(const BatchLayout& layout, const std::byte* memory,
                              std::size_t micro_batch) {
  return reinterpret_cast<const ShardKey*>(memory +
                                           layout.micro_batch(BatchLayout::keys, micro_batch));
}

}  // namespace thalweg::engine
