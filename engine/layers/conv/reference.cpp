// conv2d and conv3d: y[n, o, p] = bias[o] + sum_{c, r} x[n, c, p * stride + r - padding] *
// weight[o, c, r], with p and r counted in every direction (a cross-correlation, as everywhere in
// deep learning); outside the image x is 0.
// conv_transpose2d and conv_transpose3d: y[n, o, p * stride + r - padding] sums x[n, c, p] *
// weight[c, o, r], plus bias[o]: the gradient of a convolution with respect to its input (Zeiler et
// al., CVPR 2010). weight is (in, out, kernel...).
#include <algorithm>

#include "engine/layers/conv/options.h"
#include "engine/layers/conv/products.h"
#include "engine/layers/row.h"

namespace thalweg::engine::reference {
namespace {

/// A weight of the sizes (first, second, kernel...), and the bias where one is wanted.
void plan_parameters(LayerPlan& layer, std::int64_t first, std::int64_t second, const Window& w,
                     std::int64_t fan_in, bool bias) {
  Shape shape = w.shape(w.kernel);
  shape.insert(shape.begin(), {first, second});
  layer.parameters = {{"weight", shape, Init::scaled_normal, fan_in}};
  if (bias) layer.parameters.push_back({"bias", {layer.out[0]}, Init::zeros, 0, 1, true});
}

ConvAlgorithm algorithm_named(const std::string& name) {
  if (name == "direct") return ConvAlgorithm::direct;
  return name == "winograd" ? ConvAlgorithm::winograd : ConvAlgorithm::automatic;
}

template <int directions>
void conv_plan(LayerPlan& layer, const jobspec::Options& options) {
  const Window w = window_of(layer, layers::window_options(options, directions));
  const std::int64_t channels = options.integer("channels");
  layer.out = w.shape_of_output(channels);
  plan_parameters(layer, channels, w.channels, w, w.channels * Window::volume(w.kernel),
                  options.flag("bias"));
  // Volumes have no choice.
  layer.options = ConvOptions{
      w, directions == 2 ? algorithm_named(options.text("algorithm")) : ConvAlgorithm::automatic};
}

template <int directions>
void plan_transposed(LayerPlan& layer, const jobspec::Options& options) {
  const Window w = transposed_window_of(layer, layers::window_options(options, directions),
                                        options.integer("channels"));
  const std::int64_t inputs = layer.in[0];
  layer.out = w.shape(w.in);
  layer.out.insert(layer.out.begin(), w.channels);
  // That many products meet in a pixel, on average.
  const std::int64_t meet =
      std::max<std::int64_t>(1, inputs * Window::volume(w.kernel) / Window::volume(w.stride));
  plan_parameters(layer, inputs, w.channels, w, meet, options.flag("bias"));
  layer.options = ConvOptions{w};
}

/// Every weight is used once for each position: of the output, or of what a transposed convolution
/// spreads.
template <bool transposed>
LayerFlops conv_flops(const LayerPlan& layer) {
  const Shape& image = transposed ? layer.in : layer.out;
  return LayerFlops::with_weights(static_cast<double>(elements(layer.parameters[0].shape)) *
                                  static_cast<double>(elements(image) / image[0]));
}

/// Calls visit(index of the output, of the input, of the weight) for every product.
template <bool transposed, class Visit>
void for_each_term(const LayerPlan& layer, int samples, Visit visit) {
  const Window& window = layer.options_as<ConvOptions>().window;
  if constexpr (transposed)
    for_each_product(window, layer.in[0], samples,
                     [&](std::int64_t x, std::int64_t y, std::int64_t w) { visit(y, x, w); });
  else
    for_each_product(window, layer.out[0], samples, visit);
}

template <bool transposed, class T>
void conv_forward(const LayerPlan& layer, const Call<T>& call) {
  const std::int64_t outs = layer.out[0], image = elements(layer.out) / outs;
  const bool bias = layer.parameters.size() > 1;
  for (std::int64_t i = 0; i < call.samples() * outs * image; ++i)
    call.y[i] = bias ? call.weights[1][i / image % outs] : T{0};
  for_each_term<transposed>(layer, call.samples(),
                            [&](std::int64_t y, std::int64_t x, std::int64_t w) {
                              call.y[y] += call.x[x] * call.weights[0][w];
                            });
}

template <bool transposed, class T>
void conv_backward(const LayerPlan& layer, const Call<T>& call) {
  const std::int64_t outs = layer.out[0], image = elements(layer.out) / outs;
  std::fill_n(call.gradients[0], elements(layer.parameters[0].shape), T{0});
  if (layer.parameters.size() > 1) {
    std::fill_n(call.gradients[1], outs, T{0});
    for (std::int64_t i = 0; i < call.samples() * outs * image; ++i)
      call.gradients[1][i / image % outs] += call.dy[i];
  }
  if (call.dx != nullptr) std::fill_n(call.dx, call.samples() * elements(layer.in), T{0});
  for_each_term<transposed>(layer, call.samples(),
                            [&](std::int64_t y, std::int64_t x, std::int64_t w) {
                              call.gradients[0][w] += call.dy[y] * call.x[x];
                              if (call.dx != nullptr) call.dx[x] += call.dy[y] * call.weights[0][w];
                            });
}

}  // namespace

template <int directions>
const Layer conv{conv_plan<directions>,
                 {conv_forward<false, float>, conv_backward<false, float>},
                 {conv_forward<false, double>, conv_backward<false, double>},
                 conv_flops<false>};
template <int directions>
const Layer conv_transpose{plan_transposed<directions>,
                           {conv_forward<true, float>, conv_backward<true, float>},
                           {conv_forward<true, double>, conv_backward<true, double>},
                           conv_flops<true>};

}  // namespace thalweg::engine::reference

namespace thalweg::engine::layers {

namespace {

Option channels() {
  return required("channels", "output channels");
}

Option algorithm() {
  return jobspec::choice_option(
      "algorithm", {"auto", "direct", "winograd"},
      "3x3 windows in fp32 on the cpu device; winograd: fewer multiplications, errors near 1e-6, "
      "where there are kernels for it; direct: never; auto = winograd where that is faster");
}

}  // namespace

LayerKind conv2d() {
  return {.doc = "convolution over images",
          .options = with_window({channels(), bias_option(), algorithm()}, 1),
          .reference = &reference::conv<2>,
          .multiplies = true,
          .convolves = true,
          .fuses_relu = true};
}

LayerKind conv3d() {
  return {.doc = "convolution over volumes",
          .options = with_window({channels(), bias_option()}, 1),
          .reference = &reference::conv<3>,
          .multiplies = true,
          .convolves = true,
          .fuses_relu = true};
}

LayerKind conv_transpose2d() {
  return {.doc = "transposed convolution: images grow by the stride",
          .options = with_window({channels(), bias_option()}, 0),
          .reference = &reference::conv_transpose<2>};
}

LayerKind conv_transpose3d() {
  return {.doc = "transposed convolution over volumes",
          .options = with_window({channels(), bias_option()}, 0),
          .reference = &reference::conv_transpose<3>};
}

}  // namespace thalweg::engine::layers
