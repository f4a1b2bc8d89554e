// max_pool2d and avg_pool2d: the largest, or the mean, of each window; what lies outside the image
// does not count. Of equal largest values the first in row order gets the gradient.
#include "engine/device/reference/layer.h"
#include "engine/device/window.h"

namespace thalweg::engine::reference {
namespace {

void plan(LayerPlan& layer) {
  const Window w = window_of(layer);
  layer.out = {w.channels, w.out_height, w.out_width};
}

/// Calls visit(output index, first input index of the image, row and column ranges) for every
/// window.
template <class Visit>
void for_each_window(const LayerPlan& layer, int samples, Visit visit) {
  const Window w = window_of(layer);
  const auto clip = [](std::int64_t v, std::int64_t high) {
    return v < 0 ? 0 : v > high ? high : v;
  };
  for (std::int64_t image = 0; image < samples * w.channels; ++image)
    for (std::int64_t p = 0; p < w.out_height; ++p)
      for (std::int64_t q = 0; q < w.out_width; ++q) {
        const std::int64_t top = p * w.stride - w.padding, left = q * w.stride - w.padding;
        visit((image * w.out_height + p) * w.out_width + q, image * w.height * w.width,
              clip(top, w.height), clip(top + w.kernel, w.height), clip(left, w.width),
              clip(left + w.kernel, w.width), w.width);
      }
}

template <class T>
std::int64_t position_of_largest(const T* x, std::int64_t base, std::int64_t top,
                                 std::int64_t bottom, std::int64_t left, std::int64_t right,
                                 std::int64_t width) {
  std::int64_t best = base + top * width + left;
  for (std::int64_t i = top; i < bottom; ++i)
    for (std::int64_t j = left; j < right; ++j)
      // A NaN wins, so that it is seen in the loss.
      if (x[base + i * width + j] > x[best] || x[base + i * width + j] != x[base + i * width + j])
        best = base + i * width + j;
  return best;
}

template <class T>
void max_forward(const LayerPlan& layer, const Call<T>& call) {
  for_each_window(layer, call.samples(), [&](std::int64_t y, auto... window) {
    call.y[y] = call.x[position_of_largest(call.x, window...)];
  });
}

template <class T>
void max_backward(const LayerPlan& layer, const Call<T>& call) {
  if (call.dx == nullptr) return;
  for (std::int64_t i = 0; i < call.samples() * elements(layer.in); ++i)
    call.dx[i] = 0;
  for_each_window(layer, call.samples(), [&](std::int64_t y, auto... window) {
    call.dx[position_of_largest(call.x, window...)] += call.dy[y];
  });
}

template <class T>
void avg_forward(const LayerPlan& layer, const Call<T>& call) {
  for_each_window(layer, call.samples(),
                  [&](std::int64_t y, std::int64_t base, std::int64_t top, std::int64_t bottom,
                      std::int64_t left, std::int64_t right, std::int64_t width) {
                    T sum = 0;
                    for (std::int64_t i = top; i < bottom; ++i)
                      for (std::int64_t j = left; j < right; ++j)
                        sum += call.x[base + i * width + j];
                    call.y[y] = sum / static_cast<T>((bottom - top) * (right - left));
                  });
}

template <class T>
void avg_backward(const LayerPlan& layer, const Call<T>& call) {
  if (call.dx == nullptr) return;
  for (std::int64_t i = 0; i < call.samples() * elements(layer.in); ++i)
    call.dx[i] = 0;
  for_each_window(layer, call.samples(),
                  [&](std::int64_t y, std::int64_t base, std::int64_t top, std::int64_t bottom,
                      std::int64_t left, std::int64_t right, std::int64_t width) {
                    const T share = call.dy[y] / static_cast<T>((bottom - top) * (right - left));
                    for (std::int64_t i = top; i < bottom; ++i)
                      for (std::int64_t j = left; j < right; ++j)
                        call.dx[base + i * width + j] += share;
                  });
}

}  // namespace

const Layer max_pool2d{
    plan, {max_forward<float>, max_backward<float>}, {max_forward<double>, max_backward<double>}};
const Layer avg_pool2d{
    plan, {avg_forward<float>, avg_backward<float>}, {avg_forward<double>, avg_backward<double>}};

}  // namespace thalweg::engine::reference
