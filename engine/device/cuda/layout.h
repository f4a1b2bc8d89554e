// Ways between the order in which images are written, (n, c, places), and the one in which they
// lie on a GPU, (n, places, c).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "engine/gpu/gpu.h"
#include "engine/gpu/types.h"
#include "engine/tensor/shape.h"

namespace thalweg::engine::cuda {

/// y (n, columns, rows) from x (n, rows, columns), types as given.
void transpose(gpu::Stream& stream, std::int64_t n, std::int64_t rows, std::int64_t columns,
               gpu::Type from, const void* x, gpu::Type to, void* y);

/// y = x in another type.
void convert(gpu::Stream& stream, std::int64_t count, gpu::Type from, const void* x, gpu::Type to,
             void* y);

/// into += x.
void accumulate(gpu::Stream& stream, std::int64_t count, gpu::Type from, const void* x,
                gpu::Type to, void* into);

/// Parameter::order of `outer` rows of (c, places) numbers that lie as (places, c).
std::vector<std::int32_t> channels_last_order(std::int64_t outer, std::int64_t c,
                                              std::int64_t places);

/// gpu::Product::alignment of tensors that begin at these bytes, and steps of these bytes.
std::uint32_t alignment_of(std::initializer_list<std::int64_t> bytes);

/// Product of the sizes after the first two (samples, c): of a pixel or voxel's neighbours.
std::int64_t places_of(const Shape& dims);

}  // namespace thalweg::engine::cuda
