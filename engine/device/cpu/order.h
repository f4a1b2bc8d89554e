// How a oneDNN layout lays out the elements of one sample.
#pragma once

#include "engine/device/cpu/plan.h"

namespace thalweg::engine::cpu {

/// True where all samples of (n, c, h, w) lie one after another, each in the same order.
bool sample_is_outermost(const Desc& images);

/// The order of each sample's elements; null for the plain one. Throws std::logic_error where
/// samples are mixed.
Order order_of(const Desc& images);

}  // namespace thalweg::engine::cpu
