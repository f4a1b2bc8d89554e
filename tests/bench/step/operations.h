// What the cpu device's operations are and what they cost.
#pragma once

#include <string>

#include "engine/device/cpu/plan.h"

namespace thalweg::engine::bench {

enum Group : std::size_t { kProducts, kOther, kOwn, kLoss, kGroups };
inline constexpr const char* group_names[] = {"products", "onednn", "own", "loss"};

/// Convolutions, inner and matrix products and recurrent layers; oneDNN's other primitives; kernels
/// of our own; the loss (null).
Group group_of(const cpu::Operation* operation);

/// "convolution weights", "matmul", "own".
std::string kind_of(const cpu::Operation* operation);
/// oneDNN's name for what it chose; "" for our own.
std::string implementation_of(const cpu::Operation* operation);
/// Floating point operations of a convolution, an inner or a matrix product, as if done directly;
/// else 0.
double flops_of(const cpu::Operation* operation);

}  // namespace thalweg::engine::bench
