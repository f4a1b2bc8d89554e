// lstm: by the library, whole and with as many stacked layers as there are; else with products
// and loops. Those are: one product for the inputs of all positions; then, position by position, a
// product with the weights between positions and one loop for the rest. Backward goes the other
// way; the weights' gradients are one product each. All lies with samples outermost: products read
// rows with gaps. In bfloat16 c, sums and gradients between positions stay floats.
#include <cmath>
#include <utility>
#include <vector>

#include "engine/device/cuda/builder.h"
#include "engine/device/cuda/layout.h"
#include "engine/device/cuda/reductions.h"
#include "engine/gpu/loops.h"

namespace thalweg::engine::cuda {
namespace {

struct LstmSizes {
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
  LstmSizes s;
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

/// One cell of position t in backward: i, f, g, o become the gradients of their sums.
template <class T>
struct GoBack {
  LstmSizes s;
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
    float gradient = end ? 0 : dh[cell];
    if (!s.last) gradient += gpu::load(dy[at]);
    if (s.last && end) gradient += gpu::load(dy[cell]);
    const float level = tanhf(c[at]);
    const float d = (end ? 0 : dc[cell]) + gradient * out * (1 - level * level);
    z[0] = gpu::store<T>(d * g * in * (1 - in));
    z[s.width] = gpu::store<T>(t > 0 ? d * c[at - s.width] * forget * (1 - forget) : 0);
    z[2 * s.width] = gpu::store<T>(d * in * (1 - g * g));
    z[3 * s.width] = gpu::store<T>(gradient * level * out * (1 - out));
    dc[cell] = d * forget;
  }
};

/// What backward reads.
struct Saved {
  LstmSizes s;
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

void add_forward(Builder& b, const Saved& k, TensorId y) {
  const LstmSizes s = k.s;
  const auto both = Builder::Pass::both;
  const TensorId bias_hh = b.parameter(k.weight + 3);
  gpu::Product inputs = product(b, s.rows(), s.gates(), s.features, b.type());
  inputs.transpose_b = true;  // weights are (gates, features)
  inputs.bias = true;
  b.call(both, b.library().product(inputs),
         {k.x, b.weights(k.weight), k.gates, b.weights(k.weight + 2)});

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
        gpu::for_each(frame.stream, s.samples * s.width,
                      Advance<T>{s, t, frame.floats(bias_hh), t > 0 ? frame.floats(sums) : nullptr,
                                 frame.as<T>(k.gates), frame.floats(k.c), frame.as<T>(k.before),
                                 frame.as<T>(y)});
      });
    });
  }
}

/// The gates become the gradients of the sums, at all positions.
void add_gate_gradients(Builder& b, const Saved& k, TensorId dy) {
  const LstmSizes s = k.s;
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
        gpu::for_each(frame.stream, s.samples * s.width,
                      GoBack<T>{s, t, frame.floats(k.c), frame.as<T>(dy), frame.floats(dh),
                                frame.floats(dc), frame.as<T>(k.gates)});
      });
    });
    if (t > 0)
      b.call(back, call, {at_position(b, k.gates, t, s.gates()), b.weights(k.weight + 1), dh, -1});
  }
}

void add_weight_gradients(Builder& b, const Saved& k) {
  const LstmSizes s = k.s;
  const auto back = Builder::Pass::backward;
  const TensorId bias_ih = b.gradient(k.weight + 2), bias_hh = b.gradient(k.weight + 3);
  gpu::Product weights = product(b, s.gates(), s.features, s.rows(), Type::f32);
  weights.transpose_a = true;
  multiply_and_sum(b, weights, k.gates, k.x, b.gradient(k.weight), bias_ih);
  b.ready(k.weight);
  b.ready(k.weight + 2);
  weights.n = s.width;
  b.call(back, b.library().product(weights), {k.gates, k.before, b.gradient(k.weight + 1)});
  b.ready(k.weight + 1);
  const std::size_t bytes = b.desc(bias_hh).bytes();
  b.kernel(back, {bias_ih, bias_hh}, [=](const Frame& frame) {
    frame.stream.copy(frame.as<void>(bias_hh), frame.as<void>(bias_ih), bytes);
  });
  b.ready(k.weight + 3);
}

/// h of the last position only, and its gradient among those of all positions.
template <class T>
struct TakeLast {
  LstmSizes s;
  const T* all;
  T* y;
  THALWEG_HOST_DEVICE void operator()(std::int64_t cell) const {
    const std::int64_t n = cell / s.width, j = cell % s.width;
    y[cell] = all[((n + 1) * s.positions - 1) * s.width + j];
  }
};
template <class T>
struct SpreadLast {
  LstmSizes s;
  const T* dy;
  T* all;
  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t row = i / s.width, n = row / s.positions;
    all[i] = row % s.positions + 1 < s.positions ? T{} : dy[n * s.width + i % s.width];
  }
};

/// One layer over the next, each of these sizes but that those above the first take its width.
struct Stack {
  LstmSizes first, last;
  int layers;
  int weight;  ///< number of the first parameter
};

Stack stack_of(const Builder& b, const Node& node) {
  const LayerPlan& layer = *node.layer;
  const LstmSizes first{b.samples(), layer.in[0], layer.in[1], layer.out.back(), false};
  LstmSizes last = first;
  const int layers = 1 + static_cast<int>(node.over.size());
  if (layers > 1) last.features = first.width;
  last.last = (layers > 1 ? *node.over.back() : layer).out.size() == 1;
  return {layers > 1 ? first : last, last, layers, node.first_parameter};
}

Shape out_of(const LstmSizes& s) {
  return s.last ? Shape{s.samples, s.width} : Shape{s.samples, s.positions, s.width};
}

/// `training` null: the library has none.
gpu::RecurrenceCalls calls_of(const Builder& b, const Stack& stack) {
  gpu::Recurrence shape;
  shape.type = b.type(), shape.products = b.products();
  shape.samples = stack.first.samples, shape.positions = stack.first.positions;
  shape.features = stack.first.features, shape.width = stack.first.width;
  shape.layers = stack.layers;
  return b.library().recurrence(shape);
}

TensorId by_library(Builder& b, const Stack& stack, const gpu::RecurrenceCalls& calls, TensorId x) {
  const LstmSizes s = stack.last;
  const Type type = b.type();
  const TensorId all = b.activation({s.samples, s.positions, s.width}, type);
  const TensorId reserve = b.scratch(static_cast<std::int64_t>(calls.reserve), 1);
  std::vector<TensorId> weights, gradients, training{x, all, reserve}, evaluation{x, all};
  for (int k = stack.weight; k < stack.weight + 4 * stack.layers; ++k) {
    weights.push_back(b.weights(k));
    gradients.push_back(b.gradient(k));
  }
  for (auto* const tensors : {&training, &evaluation})
    tensors->insert(tensors->end(), weights.begin(), weights.end());
  b.call(Builder::Pass::training, calls.training, training);
  b.call(Builder::Pass::evaluation, calls.evaluation, evaluation);
  const TensorId y = s.last ? b.activation(out_of(s), type) : all;
  if (s.last) {
    b.kernel(Builder::Pass::both, {all, y}, [=](const Frame& frame) {
      gpu::with_type(type, [&](auto zero) {
        using T = decltype(zero);
        gpu::for_each(frame.stream, s.samples * s.width,
                      TakeLast<T>{s, frame.as<T>(all), frame.as<T>(y)});
      });
    });
  }
  b.keep(all);

  b.on_backward([=, &b](TensorId dy) {
    const TensorId dx = b.activation({s.samples, s.positions, stack.first.features}, type);
    const TensorId d_all = s.last ? b.like(all) : dy;
    if (s.last) {
      b.kernel(Builder::Pass::backward, {dy, d_all}, [=](const Frame& frame) {
        gpu::with_type(type, [&](auto zero) {
          using T = decltype(zero);
          gpu::for_each(frame.stream, s.rows() * s.width,
                        SpreadLast<T>{s, frame.as<T>(dy), frame.as<T>(d_all)});
        });
      });
    }
    std::vector<TensorId> tensors{x, all, d_all, reserve, dx};
    tensors.insert(tensors.end(), weights.begin(), weights.end());
    tensors.insert(tensors.end(), gradients.begin(), gradients.end());
    b.call(Builder::Pass::backward, calls.backward, tensors);
    for (int k = stack.weight; k < stack.weight + 4 * stack.layers; ++k)
      b.ready(k);
    return dx;
  });
  return y;
}

/// One layer's forward operations.
Saved by_products(Builder& b, const LstmSizes& s, int weight, TensorId x, TensorId y) {
  const Type type = b.type();
  Saved k{s, x, -1, -1, -1, weight};
  k.gates = b.activation({s.samples, s.positions, s.gates()}, type);
  k.c = b.activation({s.samples, s.positions, s.width}, Type::f32);
  k.before = b.activation({s.samples, s.positions, s.width}, type);
  add_forward(b, k, y);
  return k;
}

TensorId input_gradient(Builder& b, const Saved& k) {
  const LstmSizes s = k.s;
  const TensorId dx = b.activation({s.samples, s.positions, s.features}, b.type());
  b.call(Builder::Pass::backward,
         b.library().product(product(b, s.rows(), s.features, s.gates(), b.type())),
         {k.gates, b.weights(k.weight), dx, -1});
  return dx;
}

}  // namespace

TensorId lstm(Builder& b, const Node& node, TensorId given) {
  const Stack stack = stack_of(b, node);
  for (int k = stack.weight; k < stack.weight + 4 * stack.layers; ++k)
    b.parameter(k);
  TensorId value = b.in_type(Builder::Pass::both, given, b.type());
  if (const gpu::RecurrenceCalls calls = calls_of(b, stack); calls.training != nullptr)
    return by_library(b, stack, calls, value);

  std::vector<Saved> layers;
  for (int l = 0; l < stack.layers; ++l) {
    LstmSizes s = l == 0 ? stack.first : stack.last;
    s.last = stack.last.last && l + 1 == stack.layers;
    const TensorId x = value;
    value = b.activation(out_of(s), b.type());
    layers.push_back(by_products(b, s, stack.weight + 4 * l, x, value));
  }
  b.on_backward([=, &b](TensorId dy) {
    for (std::size_t l = layers.size(); l-- > 0;) {
      add_gate_gradients(b, layers[l], dy);
      add_weight_gradients(b, layers[l]);
      if (l > 0 || b.wants_input_gradient()) dy = input_gradient(b, layers[l]);
    }
    return dy;
  });
  return value;
}

}  // namespace thalweg::engine::cuda
