// Batches that stand in one stretch of memory (tensor/batch_layout.h), as executors take them.
#pragma once

#include <cstddef>

#include "engine/device/executor.h"
#include "engine/tensor/batch_layout.h"

namespace thalweg::engine {

/// Where piece `piece` stands, full of samples; no partners where the layout has no room for them.
inline Batch batch_at(const BatchLayout& layout, const std::byte* memory, std::size_t piece) {
  const auto at = [&](BatchLayout::Part part) { return memory + layout.piece(part, piece); };
  Batch batch;
  batch.inputs = reinterpret_cast<const float*>(at(BatchLayout::inputs));
  batch.labels = reinterpret_cast<const std::int32_t*>(at(BatchLayout::labels));
  batch.targets = reinterpret_cast<const float*>(at(BatchLayout::targets));
  batch.samples = static_cast<int>(layout.samples_of_a_piece());
  if (layout.bytes_of_sample(BatchLayout::partner_labels) == 0) return batch;
  batch.partner_labels = reinterpret_cast<const std::int32_t*>(at(BatchLayout::partner_labels));
  batch.partner_shares = reinterpret_cast<const float*>(at(BatchLayout::partner_shares));
  return batch;
}

inline const ShardKey* key_at(const BatchLayout& layout, const std::byte* memory,
                              std::size_t piece) {
  return reinterpret_cast<const ShardKey*>(memory + layout.piece(BatchLayout::keys, piece));
}

}  // namespace thalweg::engine
