// Names of calls, for reports, and their keys. For this folder only.
#pragma once

#include <span>
#include <string>

#include "engine/gpu/library.h"

namespace thalweg::engine::gpu {

std::string name_of(const Product& shape);         ///< "product 128x64x512 x 12"
std::string name_of(const Convolution& shape);     ///< "conv 64x3x3x64 of 56x56 forward"
std::string name_of(const FusedAttention& shape);  ///< "attention 1024x1024x64 forward"
std::string name_of(const Recurrence& shape);      ///< "lstm 1024 x 2 of 128x256": no pass

/// Every field, one after another: Call::key().
std::string key_of(const Product& shape);
std::string key_of(const Convolution& shape);
std::string key_of(const FusedAttention& shape);
std::string key_of(const Recurrence& shape);  ///< but for the pass

/// Throws GpuError where the shape is not one of those that library.h names.
void refuse_types(const Product& shape);
/// What is added to a product: see Product::accumulate. Null: nothing.
const void* addend_of(const Product& shape, std::span<void* const> tensors);
/// Contiguous rows are given their length.
Product with_rows(Product shape);

}  // namespace thalweg::engine::gpu
