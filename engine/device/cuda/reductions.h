// Passes over rows that several layers' backward operations share.
#pragma once

#include "engine/device/cuda/builder.h"
#include "engine/device/cuda/column_sums.h"

namespace thalweg::engine::cuda {

/// out (outer, columns) = `times` the sums over the rows of x, in an order that depends on the
/// sizes alone. Pointers are the GPU's, `parts` of column_parts(shape, 1) floats.
void sum_columns(gpu::Stream& stream, const Columns& shape, gpu::Type type, const void* x,
                 float times, float* parts, gpu::Type result, void* out);
/// The same as an operation.
void sum_columns(Builder& b, Builder::Pass pass, TensorId x, const Columns& shape, float times,
                 TensorId out);

/// In backward: out (floats) = sums over `rows` rows of `columns` numbers of x.
void sum_rows(Builder& b, TensorId x, std::int64_t rows, std::int64_t columns, TensorId out);

/// In backward: c = A^T B, a product that is told as Library::product() wants it, and besides the
/// sums (floats) of dy's columns, dy being A. In one call where the library can, else dy is read
/// again.
void multiply_and_sum(Builder& b, gpu::Product product, TensorId dy, TensorId from, TensorId c,
                      TensorId sums);

/// In backward: the gradient before a relu that put out y; dy is changed in place where it may be.
TensorId relu_gradient(Builder& b, TensorId y, TensorId dy);

}  // namespace thalweg::engine::cuda
