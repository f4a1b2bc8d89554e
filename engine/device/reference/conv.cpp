// conv2d and conv3d: y[n, o, p] = bias[o] + sum_{c, r} x[n, c, p * stride + r - padding] *
// weight[o, c, r], with p and r counted in every direction (a cross-correlation, as everywhere in
// deep learning); outside the image x is 0.
#include "engine/device/reference/layer.h"
#include "engine/device/reference/products.h"

namespace thalweg::engine::reference {
namespace {

void plan(LayerPlan& layer) {
  const Window w = window_of(layer);
  const std::int64_t channels = layer.integer("channels");
  layer.out = w.shape_of_output(channels);
  Shape shape = w.shape(w.kernel);
  shape.insert(shape.begin(), {channels, w.channels});
  layer.parameters = {
      {"weight", shape, Init::scaled_normal, w.channels * Window::volume(w.kernel)}};
  if (layer.flag("bias")) layer.parameters.push_back({"bias", {channels}, Init::zeros, 0, 1, true});
}

template <class T>
void forward(const LayerPlan& layer, const Call<T>& call) {
  const std::int64_t outs = layer.out[0], image = elements(layer.out) / outs;
  const bool bias = layer.parameters.size() > 1;
  for (std::int64_t i = 0; i < call.samples() * outs * image; ++i)
    call.y[i] = bias ? call.weights[1][i / image % outs] : T{0};
  for_each_product(window_of(layer), outs, call.samples(),
                   [&](std::int64_t y, std::int64_t x, std::int64_t w) {
                     call.y[y] += call.x[x] * call.weights[0][w];
                   });
}

template <class T>
void backward(const LayerPlan& layer, const Call<T>& call) {
  const std::int64_t outs = layer.out[0], image = elements(layer.out) / outs;
  for (std::int64_t i = 0; i < elements(layer.parameters[0].shape); ++i)
    call.gradients[0][i] = 0;
  for_each_product(window_of(layer), outs, call.samples(),
                   [&](std::int64_t y, std::int64_t x, std::int64_t w) {
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
  for_each_product(window_of(layer), outs, call.samples(),
                   [&](std::int64_t y, std::int64_t x, std::int64_t w) {
                     call.dx[x] += call.dy[y] * call.weights[0][w];
                   });
}

}  // namespace

const Layer conv2d{plan, {forward<float>, backward<float>}, {forward<double>, backward<double>}};
const Layer conv3d = conv2d;

}  // namespace thalweg::engine::reference
