// conv_transpose2d and conv_transpose3d: y[n, o, p * stride + r - padding] sums x[n, c, p] *
// weight[c, o, r], plus bias[o]: the gradient of a convolution with respect to its input (Zeiler et
// al., CVPR 2010). weight is (in, out, kernel...).
#include <algorithm>

#include "engine/device/reference/layer.h"
#include "engine/device/reference/products.h"

namespace thalweg::engine::reference {
namespace {

void plan(LayerPlan& layer) {
  const Window w = transposed_window_of(layer);
  const std::int64_t inputs = layer.in[0], channels = w.channels;
  layer.out = w.shape(w.in);
  layer.out.insert(layer.out.begin(), channels);
  Shape shape = w.shape(w.kernel);
  shape.insert(shape.begin(), {inputs, channels});
  // That many products meet in a pixel, on average.
  const std::int64_t meet =
      std::max<std::int64_t>(1, inputs * Window::volume(w.kernel) / Window::volume(w.stride));
  layer.parameters = {{"weight", shape, Init::scaled_normal, meet}};
  if (layer.flag("bias")) layer.parameters.push_back({"bias", {channels}, Init::zeros, 0, 1, true});
}

template <class T>
void forward(const LayerPlan& layer, const Call<T>& call) {
  const std::int64_t outs = layer.out[0], image = elements(layer.out) / outs;
  const bool bias = layer.parameters.size() > 1;
  for (std::int64_t i = 0; i < call.samples() * outs * image; ++i)
    call.y[i] = bias ? call.weights[1][i / image % outs] : T{0};
  for_each_product(transposed_window_of(layer), layer.in[0], call.samples(),
                   [&](std::int64_t x, std::int64_t y, std::int64_t w) {
                     call.y[y] += call.x[x] * call.weights[0][w];
                   });
}

template <class T>
void backward(const LayerPlan& layer, const Call<T>& call) {
  const std::int64_t outs = layer.out[0], image = elements(layer.out) / outs;
  std::fill_n(call.gradients[0], elements(layer.parameters[0].shape), T{0});
  if (layer.parameters.size() > 1) {
    std::fill_n(call.gradients[1], outs, T{0});
    for (std::int64_t i = 0; i < call.samples() * outs * image; ++i)
      call.gradients[1][i / image % outs] += call.dy[i];
  }
  if (call.dx != nullptr) std::fill_n(call.dx, call.samples() * elements(layer.in), T{0});
  for_each_product(transposed_window_of(layer), layer.in[0], call.samples(),
                   [&](std::int64_t x, std::int64_t y, std::int64_t w) {
                     call.gradients[0][w] += call.dy[y] * call.x[x];
                     if (call.dx != nullptr) call.dx[x] += call.dy[y] * call.weights[0][w];
                   });
}

}  // namespace

const Layer conv_transpose2d{
    plan, {forward<float>, backward<float>}, {forward<double>, backward<double>}};
const Layer conv_transpose3d = conv_transpose2d;

}  // namespace thalweg::engine::reference
