// lstm: one product for the inputs of all positions; then, position by position, a product with the
// weights between positions and one loop for the rest. Backward goes the other way; the weights'
// slopes are one product each. All lies with samples outermost: products read rows with gaps. In
// bfloat16 c, sums and slopes between positions stay floats.
//
// cuDNN's recurrent networks would add two things: kernels that stay on the GPU over all positions
// with the weights between them in registers, which pays for widths up to about 1024 and few
// samples, and stacked layers that run as a wave, layer l at position t beside layer l + 1 at
// t - 1. A recorded step already saves the host's time for each launch.
#include <cmath>

#include "engine/device/cuda/builder.h"
#include "engine/device/cuda/layer.h"
#include "engine/device/cuda/layout.h"
#include "engine/device/cuda/reductions.h"
#include "engine/gpu/loops.h"

namespace thalweg::engine::cuda {
namespace {

struct Sizes {
  std::int64_t samples, positions, features, width;
  bool last;  ///< only the last position is put out

  constexpr std::int64_t rows() const { return samples * positions; }
  constexpr std::int64_t gates() const { return 4 * width; }
};

THALWEG_HOST_DEVICE inline float sigmoid_of(float x) {
  return 1 / (1 + expf(-x));
}

/// One cell of position t: the inputs' share of the sums becomes i, f, g, o.
template <class T>
struct Advance {
  Sizes s;
  std::int64_t t;
  const float* bias;
  const float* sums;  ///< (samples, gates): the share of h at the position before; null: none yet
  T* gates;           ///< (samples, positions, gates)
  float* c;           ///< (samples, positions, width)
  T* before;          ///< (samples, positions, width): h at the position before
  T* y;               ///< h, of the last position only where `last`
  THALWEG_HOST_DEVICE void operator()(std::int64_t cell) const {
    const std::int64_t n = cell / s.width, j = cell % s.width, row = n * s.positions + t;
    const std::int64_t at = row * s.width + j;
    T* z = gates + row * s.gates() + j;
    float gate[4];
    for (int k = 0; k < 4; ++k) {
      const std::int64_t column = k * s.width + j;
      const float sum = gpu::load(z[k * s.width]) + bias[column] +
                        (sums != nullptr ? sums[n * s.gates() + column] : 0);
      gate[k] = k == 2 ? tanhf(sum) : sigmoid_of(sum);
      z[k * s.width] = gpu::store<T>(gate[k]);
    }
    const float level = (t > 0 ? gate[1] * c[at - s.width] : 0) + gate[0] * gate[2];
    c[at] = level;
    const T h = gpu::store<T>(gate[3] * tanhf(level));
    if (t == 0) before[at] = T{};
    if (t + 1 < s.positions) before[at + s.width] = h;
    if (!s.last) y[at] = h;
    if (s.last && t + 1 == s.positions) y[cell] = h;
  }
};

/// One cell of position t in backward: i, f, g, o become the slopes of their sums.
template <class T>
struct GoBack {
  Sizes s;
  std::int64_t t;
  const float* c;
  const T* dy;      ///< as y
  const float* dh;  ///< (samples, width), from the position after; null: there is none
  float* dc;        ///< (samples, width), from the position after, and for the one before
  T* gates;
  THALWEG_HOST_DEVICE void operator()(std::int64_t cell) const {
    const std::int64_t n = cell / s.width, j = cell % s.width, row = n * s.positions + t;
    const std::int64_t at = row * s.width + j;
    T* z = gates + row * s.gates() + j;
    const float in = gpu::load(z[0]), forget = gpu::load(z[s.width]), g = gpu::load(z[2 * s.width]),
                out = gpu::load(z[3 * s.width]);
    const bool end = t + 1 == s.positions;
    float slope = end ? 0 : dh[cell];
    if (!s.last) slope += gpu::load(dy[at]);
    if (s.last && end) slope += gpu::load(dy[cell]);
    const float level = tanhf(c[at]);
    const float d = (end ? 0 : dc[cell]) + slope * out * (1 - level * level);
    z[0] = gpu::store<T>(d * g * in * (1 - in));
    z[s.width] = gpu::store<T>(t > 0 ? d * c[at - s.width] * forget * (1 - forget) : 0);
    z[2 * s.width] = gpu::store<T>(d * in * (1 - g * g));
    z[3 * s.width] = gpu::store<T>(slope * level * out * (1 - out));
    dc[cell] = d * forget;
  }
};

/// What backward reads.
struct Kept {
  Sizes s;
  TensorId x, gates, c, before;
  int weight;  ///< number of the first parameter
};

gpu::Product product(const Builder& b, std::int64_t m, std::int64_t n, std::int64_t k, Type c) {
  gpu::Product product;
  product.m = m, product.n = n, product.k = k;
  product.a = product.b = b.type();
  product.c = c;
  product.products = b.products();
  return product;
}

/// The rows of position t of (samples, positions, columns).
TensorId at_position(Builder& b, TensorId tensor, std::int64_t t, std::int64_t columns) {
  return b.view(tensor, b.desc(tensor), static_cast<std::size_t>(t * columns));
}

void add_forward(Builder& b, const Kept& k, TensorId y) {
  const Sizes s = k.s;
  const auto both = Builder::Pass::both;
  const TensorId bias_ih = b.parameter(k.weight + 2), bias_hh = b.parameter(k.weight + 3);
  gpu::Product inputs = product(b, s.rows(), s.gates(), s.features, b.type());
  inputs.transpose_b = true;  // weights are (gates, features)
  inputs.bias = true;
  b.call(both, b.library().product(inputs), {k.x, b.weights(k.weight), k.gates, bias_ih});

  gpu::Product between = product(b, s.samples, s.gates(), s.width, Type::f32);
  between.transpose_b = true;
  between.row_a = s.positions * s.width;
  between.alignment = alignment_of({s.width * static_cast<std::int64_t>(gpu::size_of(b.type()))});
  const std::shared_ptr<gpu::Call> call = b.library().product(between);
  const TensorId sums = b.activation({s.samples, s.gates()}, Type::f32);
  const Type type = b.type();
  for (std::int64_t t = 0; t < s.positions; ++t) {
    if (t > 0)
      b.call(both, call, {at_position(b, k.before, t, s.width), b.weights(k.weight + 1), sums, -1});
    b.kernel(both, {bias_hh, sums, k.gates, k.c, k.before, y}, [=](const Frame& frame) {
      gpu::with_type(type, [&](auto zero) {
        using T = decltype(zero);
        gpu::for_each(frame.queue, s.samples * s.width,
                      Advance<T>{s, t, frame.floats(bias_hh), t > 0 ? frame.floats(sums) : nullptr,
                                 frame.as<T>(k.gates), frame.floats(k.c), frame.as<T>(k.before),
                                 frame.as<T>(y)});
      });
    });
  }
}

/// The gates become the slopes of the sums, at all positions.
void add_slopes(Builder& b, const Kept& k, TensorId dy) {
  const Sizes s = k.s;
  const auto back = Builder::Pass::backward;
  gpu::Product between = product(b, s.samples, s.width, s.gates(), Type::f32);
  between.row_a = s.positions * s.gates();
  between.alignment = alignment_of({s.gates() * static_cast<std::int64_t>(gpu::size_of(b.type()))});
  const std::shared_ptr<gpu::Call> call = b.library().product(between);
  const TensorId dh = b.activation({s.samples, s.width}, Type::f32), dc = b.like(dh);
  const Type type = b.type();
  for (std::int64_t t = s.positions; t-- > 0;) {
    b.kernel(back, {k.c, dy, dh, dc, k.gates}, [=](const Frame& frame) {
      gpu::with_type(type, [&](auto zero) {
        using T = decltype(zero);
        gpu::for_each(frame.queue, s.samples * s.width,
                      GoBack<T>{s, t, frame.floats(k.c), frame.as<T>(dy), frame.floats(dh),
                                frame.floats(dc), frame.as<T>(k.gates)});
      });
    });
    if (t > 0)
      b.call(back, call, {at_position(b, k.gates, t, s.gates()), b.weights(k.weight + 1), dh, -1});
  }
}

void add_weight_slopes(Builder& b, const Kept& k) {
  const Sizes s = k.s;
  const auto back = Builder::Pass::backward;
  const auto add = [&](int number, TensorId from, std::int64_t columns) {
    gpu::Product weights = product(b, s.gates(), columns, s.rows(), Type::f32);
    weights.transpose_a = true;
    b.call(back, b.library().product(weights), {k.gates, from, b.gradient(number), -1});
    b.ready(number);
  };
  add(k.weight, k.x, s.features);
  add(k.weight + 1, k.before, s.width);
  const TensorId bias_ih = b.gradient(k.weight + 2), bias_hh = b.gradient(k.weight + 3);
  sum_rows(b, k.gates, s.rows(), s.gates(), bias_ih);
  b.ready(k.weight + 2);
  const std::size_t bytes = b.desc(bias_hh).bytes();
  b.kernel(back, {bias_ih, bias_hh}, [=](const Frame& frame) {
    frame.queue.copy(frame.as<void>(bias_hh), frame.as<void>(bias_ih), bytes);
  });
  b.ready(k.weight + 3);
}

}  // namespace

TensorId lstm(Builder& b, const Node& node, TensorId given) {
  const LayerPlan& layer = *node.layer;
  const Sizes s{b.samples(), layer.in[0], layer.in[1], layer.integer("width"),
                layer.out.size() == 1};
  const Type type = b.type();
  const Shape out = s.last ? Shape{s.samples, s.width} : Shape{s.samples, s.positions, s.width};
  Kept k{s, b.in_type(Builder::Pass::both, given, type), -1, -1, -1, node.first_parameter};
  b.parameter(k.weight);
  b.parameter(k.weight + 1);
  k.gates = b.activation({s.samples, s.positions, s.gates()}, type);
  k.c = b.activation({s.samples, s.positions, s.width}, Type::f32);
  k.before = b.activation({s.samples, s.positions, s.width}, type);
  const TensorId y = b.activation(out, type);
  add_forward(b, k, y);

  b.on_backward([=, &b](TensorId dy) {
    add_slopes(b, k, dy);
    add_weight_slopes(b, k);
    if (!b.wants_input_gradient()) return dy;
    const TensorId dx = b.activation({s.samples, s.positions, s.features}, type);
    b.call(Builder::Pass::backward,
           b.library().product(product(b, s.rows(), s.features, s.gates(), type)),
           {k.gates, b.weights(k.weight), dx, -1});
    return dx;
  });
  return y;
}

}  // namespace thalweg::engine::cuda
