// Times the algorithms of library calls on the GPU: each as often as it takes for a median, in a
// captured graph, as the training step does it, so that the host's time to launch is not in it.
#pragma once

#include <span>
#include <vector>

#include "engine/device/cuda/plan.h"
#include "engine/device/kernels.h"
#include "engine/gpu/gpu.h"
#include "engine/gpu/library.h"

namespace thalweg::engine::cuda {

/// The calls of a plan by their keys, in the order of their making.
std::vector<CallKind> kinds_of(const Plan& plan);

/// All algorithms of `call` that can be run and captured with at most options.scratch bytes of
/// workspace; of the others options.note is told. Throws GpuError where nothing more can be done.
/// `tensors` as in gpu::Call::run(). Nothing else may be in `stream`. The algorithm that is chosen
/// is another one afterwards.
CallTimes time_algorithms(gpu::Gpu& machine, gpu::Stream& stream, gpu::Call& call,
                          std::span<void* const> tensors, const MeasureOptions& options);

/// BasicProgram::measure_calls().
KernelTimes measure(gpu::Gpu& machine, const Plan& plan, const MeasureOptions& options);

}  // namespace thalweg::engine::cuda
