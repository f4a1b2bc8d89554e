// Max pool of windows that do not overlap, which oneDNN's kernel for any window does at a fraction
// of the memory's pace: every input is read or written once. Exact.
#pragma once

#include <cstdint>

#include "engine/device/window.h"
#include "engine/tensor/half.h"

namespace thalweg::engine::cpu {

/// Images of `pixel` neighbouring channels, a multiple of 16: one of a sample where channels lie
/// innermost, else one for each block of 16 channels.
struct MaxPool {
  std::int64_t images = 0, pixel = 0;
  Window window;
  bool masks_relu = false;  ///< x comes out of a relu, whose gradient is asked for

  std::int64_t outputs() const { return images * Window::volume(window.out) * pixel; }
  std::int64_t inputs() const { return images * Window::volume(window.in) * pixel; }
};

/// Whether this machine has the kernels and they take the window.
bool serves_max_pool(const Window& window);

/// y: the largest of each window; a NaN counts as larger than all numbers. places: where it was
/// found, a number for each of y. T is float or Bf16.
template <class T>
void max_pool_forward(const MaxPool& p, const T* x, T* y, std::uint8_t* places);
/// dx, overwritten: 0 but at the places.
template <class T>
void max_pool_backward(const MaxPool& p, const T* dy, const std::uint8_t* places, T* dx);

}  // namespace thalweg::engine::cpu
