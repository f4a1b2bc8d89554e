// A window, as long in every direction, that slides over an image or a volume: the geometry that
// convolutions and pools share.
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "engine/device/layer.h"

namespace thalweg::engine {

/// Directions are depth, height, width; images have a depth of 1, which the window leaves alone.
struct Window {
  using Sizes = std::array<std::int64_t, 3>;
  int directions = 2;  ///< 2: images, 3: volumes
  std::int64_t channels = 0;
  Sizes in{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, padding{0, 0, 0}, out{1, 1, 1};

  /// Of the directions that there are: `sizes` without the depth of images.
  Shape shape(const Sizes& sizes) const { return {sizes.begin() + (3 - directions), sizes.end()}; }
  /// Shape of a sample with `outputs` channels after the window has passed.
  Shape shape_of_output(std::int64_t outputs) const {
    Shape result = shape(out);
    result.insert(result.begin(), outputs);
    return result;
  }
  static std::int64_t volume(const Sizes& sizes) { return sizes[0] * sizes[1] * sizes[2]; }
};

struct WindowOptions {
  int directions = 2;
  std::int64_t kernel = 1, stride = 0, padding = 0;  ///< a stride of 0: the kernel's size
};

/// Channels and sizes are left to be filled in. Throws std::invalid_argument ("expects ...").
inline Window window_of_kernel(const LayerPlan& layer, const WindowOptions& options) {
  Window w;
  w.directions = options.directions;
  if (layer.in.size() != static_cast<std::size_t>(w.directions) + 1)
    throw std::invalid_argument(
        std::string(w.directions == 3 ? "expects volumes (channels, depth, height, width), got "
                                      : "expects images (channels, height, width), got ") +
        to_text(layer.in));
  const std::int64_t kernel = options.kernel, padding = options.padding;
  const std::int64_t stride = options.stride == 0 ? kernel : options.stride;
  if (padding >= kernel)
    throw std::invalid_argument("expects a padding smaller than its kernel of " +
                                std::to_string(kernel) + ", got " + std::to_string(padding));
  for (auto d = static_cast<std::size_t>(3 - w.directions); d < 3; ++d) {
    w.kernel[d] = kernel;
    w.stride[d] = stride;
    w.padding[d] = padding;
  }
  return w;
}

/// The window that slides over the layer's input. Throws as window_of_kernel.
inline Window window_of(const LayerPlan& layer, const WindowOptions& options) {
  Window w = window_of_kernel(layer, options);
  const bool volumes = w.directions == 3;
  const std::int64_t kernel = w.kernel[2], padding = w.padding[2], stride = w.stride[2];
  w.channels = layer.in[0];
  for (int i = 0; i < w.directions; ++i) {
    const auto d = static_cast<std::size_t>(3 - w.directions + i);
    w.in[d] = layer.in[static_cast<std::size_t>(i) + 1];
    if (w.in[d] + 2 * padding < kernel) {
      const std::string size = std::to_string(kernel);
      throw std::invalid_argument(
          (volumes ? "expects volumes of at least " + size + "x" + size + "x" + size
                   : "expects images of at least " + size + "x" + size) +
          " with its padding of " + std::to_string(padding) + ", got " + to_text(layer.in));
    }
    w.out[d] = (w.in[d] + 2 * padding - kernel) / stride + 1;
  }
  return w;
}

/// The window of the convolution that a transposed one turns round: it slides over the layer's
/// output, of so many channels, and gives the layer's input. Throws as window_of_kernel.
inline Window transposed_window_of(const LayerPlan& layer, const WindowOptions& options,
                                   std::int64_t channels) {
  Window w = window_of_kernel(layer, options);
  w.channels = channels;
  for (int i = 0; i < w.directions; ++i) {
    const auto d = static_cast<std::size_t>(3 - w.directions + i);
    w.out[d] = layer.in[static_cast<std::size_t>(i) + 1];
    w.in[d] = (w.out[d] - 1) * w.stride[d] + w.kernel[d] - 2 * w.padding[d];
    if (w.in[d] < 1)
      throw std::invalid_argument("expects a padding that leaves something of " +
                                  to_text(layer.in) + ", got " + std::to_string(w.padding[d]));
  }
  return w;
}

}  // namespace thalweg::engine
