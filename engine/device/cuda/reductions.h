// Passes over rows that several layers' backward operations share.
#pragma once

#include "engine/device/cuda/builder.h"

namespace thalweg::engine::cuda {

/// In backward: out (floats) = sums over `rows` rows of `columns` numbers of x, in an order that
/// depends on the sizes alone.
void sum_rows(Builder& b, TensorId x, std::int64_t rows, std::int64_t columns, TensorId out);

/// In backward: the gradient before a relu that put out y; dy is changed in place where it may be.
TensorId relu_slope(Builder& b, TensorId y, TensorId dy);

}  // namespace thalweg::engine::cuda
