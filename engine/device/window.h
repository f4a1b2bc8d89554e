// A square window that slides over an image: the geometry that conv2d and the pools share.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "engine/device/layer.h"

namespace thalweg::engine {

struct Window {
  std::int64_t channels, height, width;  ///< of the input
  std::int64_t kernel, stride, padding;
  std::int64_t out_height = 0, out_width = 0;
};

/// Reads kernel, stride (0: the kernel's size) and padding of the plan. Throws
/// std::invalid_argument ("expects ...").
inline Window window_of(const LayerPlan& layer) {
  if (layer.in.size() != 3)
    throw std::invalid_argument("expects images (channels, height, width), got " +
                                to_text(layer.in));
  Window w{layer.in[0],
           layer.in[1],
           layer.in[2],
           layer.integer("kernel"),
           layer.integer("stride"),
           layer.integer("padding")};
  if (w.stride == 0) w.stride = w.kernel;
  if (w.padding >= w.kernel)
    throw std::invalid_argument("expects a padding smaller than its kernel of " +
                                std::to_string(w.kernel) + ", got " + std::to_string(w.padding));
  if (w.height + 2 * w.padding < w.kernel || w.width + 2 * w.padding < w.kernel)
    throw std::invalid_argument("expects images of at least " + std::to_string(w.kernel) + "x" +
                                std::to_string(w.kernel) + " with its padding of " +
                                std::to_string(w.padding) + ", got " + to_text(layer.in));
  w.out_height = (w.height + 2 * w.padding - w.kernel) / w.stride + 1;
  w.out_width = (w.width + 2 * w.padding - w.kernel) / w.stride + 1;
  return w;
}

}  // namespace thalweg::engine
