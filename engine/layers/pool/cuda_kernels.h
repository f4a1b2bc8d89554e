// Passes of max_pool and avg_pool over images (2d) and volumes (3d) with their channels innermost:
// (samples, places..., channels). Functions of a stream, the GPU's memory and sizes; nothing is
// waited for. Tensors have the type `type` and begin at multiples of 64 bytes.
#pragma once

#include <cstdint>

#include "engine/device/window.h"
#include "engine/gpu/gpu.h"
#include "engine/gpu/types.h"

namespace thalweg::engine::cuda {

struct PoolShape {
  Window window;  ///< with its channels
  std::int64_t samples = 0;

  std::int64_t outputs() const { return samples * Window::volume(window.out) * window.channels; }
  std::int64_t inputs() const { return samples * Window::volume(window.in) * window.channels; }
  /// Bytes of a place: the number of an element in its window, in row order.
  std::size_t bytes_of_place() const { return Window::volume(window.kernel) <= 256 ? 1 : 4; }
};

/// `places`: of each output, which element of its window won; null: nobody asks. A NaN wins.
void max_pool_forward(gpu::Stream& stream, gpu::Type type, const PoolShape& shape, const void* x,
                      void* y, void* places);
void max_pool_backward(gpu::Stream& stream, gpu::Type type, const PoolShape& shape, const void* dy,
                       const void* places, void* dx);
/// Means over the elements of a window that there are: padding does not count.
void avg_pool_forward(gpu::Stream& stream, gpu::Type type, const PoolShape& shape, const void* x,
                      void* y);
void avg_pool_backward(gpu::Stream& stream, gpu::Type type, const PoolShape& shape, const void* dy,
                       void* dx);

}  // namespace thalweg::engine::cuda
