// conv2d: y[n, o, p, q] = bias[o] + sum_{c, r, s} x[n, c, p * stride + r - padding, q * stride + s
// - padding] * weight[o, c, r, s] (a cross-correlation, as everywhere in deep learning); outside
// the image x is 0.
#include "engine/device/reference/layer.h"
#include "engine/device/window.h"

namespace thalweg::engine::reference {
namespace {

void plan(LayerPlan& layer) {
  const Window w = window_of(layer);
  const std::int64_t channels = layer.integer("channels");
  layer.out = {channels, w.out_height, w.out_width};
  layer.parameters = {{"weight",
                       {channels, w.channels, w.kernel, w.kernel},
                       Init::scaled_normal,
                       w.channels * w.kernel * w.kernel}};
  if (layer.flag("bias")) layer.parameters.push_back({"bias", {channels}, Init::zeros, 0, 1, true});
}

/// Calls visit(output index, input index, weight index) for every product of the sum above.
template <class Visit>
void for_each_product(const LayerPlan& layer, int samples, Visit visit) {
  const Window w = window_of(layer);
  const std::int64_t outs = layer.out[0];
  for (int n = 0; n < samples; ++n)
    for (std::int64_t o = 0; o < outs; ++o)
      for (std::int64_t p = 0; p < w.out_height; ++p)
        for (std::int64_t q = 0; q < w.out_width; ++q)
          for (std::int64_t c = 0; c < w.channels; ++c)
            for (std::int64_t r = 0; r < w.kernel; ++r)
              for (std::int64_t s = 0; s < w.kernel; ++s) {
                const std::int64_t i = p * w.stride + r - w.padding;
                const std::int64_t j = q * w.stride + s - w.padding;
                if (i < 0 || i >= w.height || j < 0 || j >= w.width) continue;
                visit(((n * outs + o) * w.out_height + p) * w.out_width + q,
                      ((n * w.channels + c) * w.height + i) * w.width + j,
                      ((o * w.channels + c) * w.kernel + r) * w.kernel + s);
              }
}

template <class T>
void forward(const LayerPlan& layer, const Call<T>& call) {
  const std::int64_t outs = layer.out[0], image = layer.out[1] * layer.out[2];
  const bool bias = layer.parameters.size() > 1;
  for (std::int64_t i = 0; i < call.samples() * outs * image; ++i)
    call.y[i] = bias ? call.weights[1][i / image % outs] : T{0};
  for_each_product(layer, call.samples(), [&](std::int64_t y, std::int64_t x, std::int64_t w) {
    call.y[y] += call.x[x] * call.weights[0][w];
  });
}

template <class T>
void backward(const LayerPlan& layer, const Call<T>& call) {
  const std::int64_t outs = layer.out[0], image = layer.out[1] * layer.out[2];
  for (std::int64_t i = 0; i < elements(layer.parameters[0].shape); ++i)
    call.gradients[0][i] = 0;
  for_each_product(layer, call.samples(), [&](std::int64_t y, std::int64_t x, std::int64_t w) {
    call.gradients[0][w] += call.dy[y] * call.x[x];
  });
  if (layer.parameters.size() > 1) {
    for (std::int64_t o = 0; o < outs; ++o)
      call.gradients[1][o] = 0;
    for (std::int64_t i = 0; i < call.samples() * outs * image; ++i)
      call.gradients[1][i / image % outs] += call.dy[i];
  }
  if (call.dx == nullptr) return;
  for (std::int64_t i = 0; i < call.samples() * elements(layer.in); ++i)
    call.dx[i] = 0;
  for_each_product(layer, call.samples(), [&](std::int64_t y, std::int64_t x, std::int64_t w) {
    call.dx[x] += call.dy[y] * call.weights[0][w];
  });
}

}  // namespace

const Layer conv2d{plan, {forward<float>, backward<float>}, {forward<double>, backward<double>}};

}  // namespace thalweg::engine::reference
