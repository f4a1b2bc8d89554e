// max_pool and avg_pool over images (2d) and volumes (3d): the largest, or the mean, of each
// window; what lies outside does not count. Of equal largest values the first in row order gets the
// gradient.
#include <algorithm>

#include "engine/device/window.h"
#include "engine/layers/row.h"

namespace thalweg::engine::reference {
namespace {

template <int directions>
void pool_plan(LayerPlan& layer, const jobspec::Options& options) {
  const Window w = window_of(layer, layers::window_options(options, directions));
  layer.out = w.shape_of_output(w.channels);
  layer.options = w;
}

/// The inputs that one window covers.
struct Patch {
  std::int64_t base;  ///< first input of the image
  Window::Sizes in, first, end;

  std::int64_t count() const {
    return (end[0] - first[0]) * (end[1] - first[1]) * (end[2] - first[2]);
  }
  /// Calls visit(input index) in row order.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::int64_t d = first[0]; d < end[0]; ++d)
      for (std::int64_t h = first[1]; h < end[1]; ++h)
        for (std::int64_t w = first[2]; w < end[2]; ++w)
          visit(base + (d * in[1] + h) * in[2] + w);
  }
};

/// Calls visit(output index, patch) for every window.
template <class Visit>
void for_each_window(const LayerPlan& layer, int samples, Visit visit) {
  const Window& w = layer.options_as<Window>();
  std::int64_t output = 0;
  Patch patch{0, w.in, {}, {}};
  const auto cover = [&](std::size_t d, std::int64_t p) {
    const std::int64_t start = p * w.stride[d] - w.padding[d];
    patch.first[d] = std::clamp<std::int64_t>(start, 0, w.in[d]);
    patch.end[d] = std::clamp<std::int64_t>(start + w.kernel[d], 0, w.in[d]);
  };
  for (std::int64_t image = 0; image < samples * w.channels; ++image) {
    patch.base = image * Window::volume(w.in);
    for (std::int64_t d = 0; d < w.out[0]; ++d)
      for (std::int64_t h = 0; h < w.out[1]; ++h)
        for (std::int64_t i = 0; i < w.out[2]; ++i) {
          cover(0, d);
          cover(1, h);
          cover(2, i);
          visit(output++, patch);
        }
  }
}

template <class T>
std::int64_t position_of_largest(const T* x, const Patch& patch) {
  std::int64_t best = -1;
  patch.for_each([&](std::int64_t i) {
    // A NaN wins, so that it is seen in the loss.
    if (best < 0 || x[i] > x[best] || x[i] != x[i]) best = i;
  });
  return best;
}

template <class T>
void max_forward(const LayerPlan& layer, const Call<T>& call) {
  for_each_window(layer, call.samples(), [&](std::int64_t y, const Patch& patch) {
    call.y[y] = call.x[position_of_largest(call.x, patch)];
  });
}

template <class T>
void max_backward(const LayerPlan& layer, const Call<T>& call) {
  if (call.dx == nullptr) return;
  std::fill_n(call.dx, call.samples() * elements(layer.in), T{0});
  for_each_window(layer, call.samples(), [&](std::int64_t y, const Patch& patch) {
    call.dx[position_of_largest(call.x, patch)] += call.dy[y];
  });
}

template <class T>
void avg_forward(const LayerPlan& layer, const Call<T>& call) {
  for_each_window(layer, call.samples(), [&](std::int64_t y, const Patch& patch) {
    T sum = 0;
    patch.for_each([&](std::int64_t i) { sum += call.x[i]; });
    call.y[y] = sum / static_cast<T>(patch.count());
  });
}

template <class T>
void avg_backward(const LayerPlan& layer, const Call<T>& call) {
  if (call.dx == nullptr) return;
  std::fill_n(call.dx, call.samples() * elements(layer.in), T{0});
  for_each_window(layer, call.samples(), [&](std::int64_t y, const Patch& patch) {
    const T share = call.dy[y] / static_cast<T>(patch.count());
    patch.for_each([&](std::int64_t i) { call.dx[i] += share; });
  });
}

}  // namespace

template <int directions>
const Layer max_pool{pool_plan<directions>,
                     {max_forward<float>, max_backward<float>},
                     {max_forward<double>, max_backward<double>}};
template <int directions>
const Layer avg_pool{pool_plan<directions>,
                     {avg_forward<float>, avg_backward<float>},
                     {avg_forward<double>, avg_backward<double>}};

}  // namespace thalweg::engine::reference

namespace thalweg::engine::layers {

LayerKind max_pool2d() {
  return {.doc = "largest value of each window",
          .options = with_window({}, 0),
          .reference = &reference::max_pool<2>,
          .is_max_pool = true};
}

LayerKind max_pool3d() {
  return {.doc = "largest value of each window of volumes",
          .options = with_window({}, 0),
          .reference = &reference::max_pool<3>,
          .is_max_pool = true};
}

LayerKind avg_pool2d() {
  return {.doc = "mean of each window, padding not counted",
          .options = with_window({}, 0),
          .reference = &reference::avg_pool<2>};
}

LayerKind avg_pool3d() {
  return {.doc = "mean of each window of volumes, padding not counted",
          .options = with_window({}, 0),
          .reference = &reference::avg_pool<3>};
}

}  // namespace thalweg::engine::layers
