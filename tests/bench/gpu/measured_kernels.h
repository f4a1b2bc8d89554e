// The algorithms that library calls take in a bench, measured as thalweg-train does by default.
#pragma once

#include <functional>
#include <string>

#include "engine/device/kernels.h"
#include "engine/gpu/gpu.h"

namespace thalweg::engine::bench {

/// Of what `measure` measures within 1 GiB of workspace; calls that forty seconds do not reach stay
/// as their libraries think best. `file`: times of such a GPU with such libraries that were
/// measured before, to which these are added; "": none. Throws std::exception where it cannot be
/// read or written.
KernelOptions measured_kernels(gpu::Gpu& machine, const std::string& file,
                               const std::function<KernelTimes(const MeasureOptions&)>& measure);

}  // namespace thalweg::engine::bench
