// conv2d and conv3d: the library's convolution, bias and a following relu joined; weights are
// (k, r..., c), as the images have their channels innermost. conv_transpose2d and conv_transpose3d:
// the convolution whose gradients turn round: forward is its pass backwards to the data.
#include "engine/device/cuda/builder.h"
#include "engine/device/cuda/columns.h"
#include "engine/device/cuda/layout.h"
#include "engine/device/cuda/padded_channels.h"
#include "engine/device/cuda/reductions.h"
#include "engine/layers/conv/options.h"

namespace thalweg::engine::cuda {
namespace {

using Direction = gpu::Convolution::Pass;

/// The convolution of `w` with `outputs` channels, without bias and relu.
gpu::Convolution convolution_of(const Builder& b, const Window& w, std::int64_t outputs) {
  gpu::Convolution c;
  c.type = b.type();
  c.n = b.samples();
  c.c = w.channels;
  c.k = outputs;
  c.in = w.shape(w.in);
  c.out = w.shape(w.out);
  c.kernel = w.shape(w.kernel);
  c.stride = static_cast<int>(w.stride[2]);
  c.padding = static_cast<int>(w.padding[2]);
  c.products = b.products();
  return c;
}

void add_call(Builder& b, Builder::Pass pass, gpu::Convolution c, Direction direction,
              const std::vector<TensorId>& tensors) {
  c.pass = direction;
  b.call(pass, b.library().convolution(c), tensors);
}

Shape batch_of(const Builder& b, Shape sample) {
  sample.insert(sample.begin(), b.samples());
  return sample;
}

struct PlusBias {
  template <int width>
  using Constants = gpu::Pack<float, width>;
  const float* bias;
  template <int width>
  THALWEG_HOST_DEVICE Constants<width> at(std::int64_t, std::int64_t column) const {
    return *reinterpret_cast<const Constants<width>*>(bias + column);
  }
  template <int width>
  THALWEG_HOST_DEVICE float value(const Constants<width>& here, int k, float x) const {
    return x + here.at[k];
  }
};

void add_bias(Builder& b, TensorId bias, TensorId y) {
  const Desc desc = b.desc(y);
  const Columns shape{1, desc.count() / desc.dims[1], desc.dims[1]};
  b.kernel(Builder::Pass::both, {bias, y}, [=](const Frame& frame) {
    gpu::with_type(desc.type, [&](auto t) {
      using T = decltype(t);
      map_columns(frame.stream, shape, PlusBias{frame.floats(bias)}, frame.as<T>(y),
                  static_cast<const T*>(frame.as<T>(y)));
    });
  });
}

/// In backward: the gradient of a bias, where there is one.
void sum_bias(Builder& b, const LayerPlan& layer, int weight, TensorId dy) {
  if (layer.parameters.size() < 2) return;
  const std::int64_t channels = layer.out[0];
  const TensorId sums = b.with_same_sums(dy);
  sum_rows(b, sums, b.desc(sums).count() / channels, channels, b.gradient(weight + 1));
  b.ready(weight + 1);
}

TensorId conv_transpose(Builder& b, const Node& node, TensorId input) {
  const LayerPlan& layer = *node.layer;
  const Window w = layer.options_as<ConvOptions>().window;
  const gpu::Convolution turned = convolution_of(b, w, layer.in[0]);
  const int weight = node.first_parameter;
  b.parameter(weight, channels_last_order(layer.in[0], w.channels, Window::volume(w.kernel)));
  const TensorId x = b.in_type(Builder::Pass::both, input, b.type());
  const TensorId y = b.activation(batch_of(b, layer.out), b.type());
  add_call(b, Builder::Pass::both, turned, Direction::backward_data, {x, b.weights(weight), y});
  if (layer.parameters.size() > 1) add_bias(b, b.parameter(weight + 1), y);

  b.on_backward([=, &b, &layer](TensorId given) {
    const TensorId dy = b.in_type(Builder::Pass::backward, given, b.type());
    add_call(b, Builder::Pass::backward, turned, Direction::backward_weights,
             {dy, x, b.gradient(weight)});
    b.ready(weight);
    sum_bias(b, layer, weight, dy);
    if (!b.wants_input_gradient()) return dy;
    const TensorId dx = b.like(x);
    add_call(b, Builder::Pass::backward, turned, Direction::forward, {dy, b.weights(weight), dx});
    return dx;
  });
  return b.in_type(Builder::Pass::both, y, b.output_type());
}

/// The weights of a layer whose input is padded: (k, places, channels) become (k, places, 8).
TensorId padded_weights(Builder& b, int weight, std::int64_t rows, std::int64_t channels) {
  const TensorId narrow = b.weights(weight), wide = b.activation({rows, padded_channels}, b.type());
  b.kernel(Builder::Pass::both, {narrow, wide}, [=](const Frame& frame) {
    pad_rows(frame.stream, rows, channels, frame.as<Bf16>(narrow), frame.as<Bf16>(wide));
  });
  return wide;
}

void strip_gradient(Builder& b, TensorId wide, std::int64_t rows, std::int64_t channels,
                    TensorId narrow) {
  b.kernel(Builder::Pass::backward, {wide, narrow}, [=](const Frame& frame) {
    strip_rows(frame.stream, rows, channels, frame.floats(wide), frame.floats(narrow));
  });
}

}  // namespace

TensorId conv2d(Builder& b, const Node& node, TensorId input) {
  const LayerPlan& layer = *node.layer;
  const Window w = layer.options_as<ConvOptions>().window;
  gpu::Convolution plain = convolution_of(b, w, layer.out[0]);
  const int weight = node.first_parameter;
  const std::int64_t rows = layer.out[0] * Window::volume(w.kernel);
  b.parameter(weight, channels_last_order(layer.out[0], w.channels, Window::volume(w.kernel)));
  const TensorId x = b.in_type(Builder::Pass::both, input, b.type());
  plain.c = b.desc(x).dims[1];
  const bool padded = plain.c > w.channels;
  const TensorId weights = padded ? padded_weights(b, weight, rows, w.channels) : b.weights(weight);
  const TensorId y = b.activation(batch_of(b, layer.out), b.type());
  gpu::Convolution joined = plain;
  joined.bias = layer.parameters.size() > 1;
  joined.relu = node.relu;
  std::vector<TensorId> tensors{x, weights, y};
  if (joined.bias) {
    b.parameter(weight + 1);
    tensors.push_back(b.weights(weight + 1));
  }
  add_call(b, Builder::Pass::both, joined, Direction::forward, tensors);
  if (node.relu) b.keep(y);

  b.on_backward([=, &b, &layer](TensorId dy) {
    dy = b.in_type(Builder::Pass::backward, dy, b.type());
    if (joined.relu) dy = relu_gradient(b, y, dy);
    const TensorId dw =
        padded ? b.activation({rows, padded_channels}, Type::f32) : b.gradient(weight);
    add_call(b, Builder::Pass::backward, plain, Direction::backward_weights, {x, dy, dw});
    if (padded) strip_gradient(b, dw, rows, w.channels, b.gradient(weight));
    b.ready(weight);
    sum_bias(b, layer, weight, dy);
    if (!b.wants_input_gradient()) return dy;
    const TensorId dx = b.like(x);
    add_call(b, Builder::Pass::backward, plain, Direction::backward_data, {dy, weights, dx});
    return dx;
  });
  return b.in_type(Builder::Pass::both, y, b.output_type());
}

TensorId conv3d(Builder& b, const Node& node, TensorId x) {
  return conv2d(b, node, x);
}
TensorId conv_transpose2d(Builder& b, const Node& node, TensorId x) {
  return conv_transpose(b, node, x);
}
TensorId conv_transpose3d(Builder& b, const Node& node, TensorId x) {
  return conv_transpose(b, node, x);
}

}  // namespace thalweg::engine::cuda
