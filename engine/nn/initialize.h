// Initial values of a graph's parameters in the plain layout.
#pragma once

#include <cstdint>

#include "engine/device/layer.h"

namespace thalweg::engine {

/// Writes elements(plan.shape) numbers. Each is a function of (seed, number of the parameter in the
/// graph, position in the plain layout), so that every device starts the same.
void initialize_parameter(const ParameterPlan& plan, std::uint64_t seed, std::uint32_t number,
                          float* plain);

}  // namespace thalweg::engine
