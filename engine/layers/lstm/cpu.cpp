// lstm with positions outermost: one product for all inputs; then, position by position, a product
// with the weights between positions and a loop of our own for the rest. Backward goes the other
// way; the weights' gradients are one product each. The output keeps that order, so that an lstm
// after it moves nothing. In bf16 c, sums and gradients between positions stay floats.
#include <algorithm>
#include <utility>

#include "engine/device/cpu/builder.h"
#include "engine/device/cpu/exponential.h"
#include "engine/device/cpu/types.h"
#include "engine/tensor/simd.h"

namespace thalweg::engine::cpu {
namespace {

struct LstmSizes {
  std::int64_t samples, positions, features, width;

  std::int64_t rows() const { return samples * positions; }
  std::int64_t step() const { return samples * width; }  ///< floats of c or h at a position
};

/// z: the inputs' share of the sums becomes i, f, g, o; `sums`: the share of h at the position
/// before.
template <class T>
THALWEG_INLINE void advance_rows(const LstmSizes& s, const float* __restrict bias,
                                 const float* __restrict sums, const float* __restrict before,
                                 T* __restrict z, float* __restrict c, T* __restrict h) {
  const std::int64_t width = s.width;
  for (std::int64_t n = 0; n < s.samples; ++n) {
    const auto sum = [&](std::int64_t at) { return load(z[at]) + sums[at] + bias[at]; };
#pragma GCC ivdep  // a gate of cell j comes from that gate of cell j alone
    for (std::int64_t j = 0; j < width; ++j) {
      const float i = logistic(sum(j));
      const float f = logistic(sum(width + j));
      const float g = hyperbolic_tangent(sum(2 * width + j));
      const float o = logistic(sum(3 * width + j));
      const float level = f * before[j] + i * g;
      z[j] = store<T>(i);
      z[width + j] = store<T>(f);
      z[2 * width + j] = store<T>(g);
      z[3 * width + j] = store<T>(o);
      c[j] = level;
      h[j] = store<T>(o * hyperbolic_tangent(level));
    }
    z += 4 * width, sums += 4 * width, before += width, c += width, h += width;
  }
}

THALWEG_SIMD void advance(const LstmSizes& s, const float* bias, const float* sums,
                          const float* before, float* z, float* c, float* h) {
  advance_rows(s, bias, sums, before, z, c, h);
}
THALWEG_SIMD void advance(const LstmSizes& s, const float* bias, const float* sums,
                          const float* before, Bf16* z, float* c, Bf16* h) {
  advance_rows(s, bias, sums, before, z, c, h);
}

THALWEG_SIMD void add_to(const float* __restrict from, std::int64_t count, float* __restrict into) {
  for (std::int64_t i = 0; i < count; ++i)
    into[i] += from[i];
}
THALWEG_SIMD void add_to(const Bf16* __restrict from, std::int64_t count, float* __restrict into) {
  for (std::int64_t i = 0; i < count; ++i)
    into[i] += to_float(from[i]);
}

/// dz from the gradients of h and c; dc becomes the gradient of c at the position before.
template <class T>
THALWEG_INLINE void backward_rows(const LstmSizes& s, const T* __restrict gates,
                                  const float* __restrict before, const float* __restrict c,
                                  const float* __restrict dh, float* __restrict dc,
                                  T* __restrict dz) {
  const std::int64_t width = s.width;
  for (std::int64_t n = 0; n < s.samples; ++n) {
#pragma GCC ivdep  // cells stand apart
    for (std::int64_t j = 0; j < width; ++j) {
      const float i = load(gates[j]), f = load(gates[width + j]);
      const float g = load(gates[2 * width + j]), o = load(gates[3 * width + j]);
      const float level = hyperbolic_tangent(c[j]);
      const float gradient = dc[j] + dh[j] * o * (1 - level * level);
      dz[j] = store<T>(gradient * g * i * (1 - i));
      dz[width + j] = store<T>(gradient * before[j] * f * (1 - f));
      dz[2 * width + j] = store<T>(gradient * i * (1 - g * g));
      dz[3 * width + j] = store<T>(dh[j] * level * o * (1 - o));
      dc[j] = gradient * f;
    }
    gates += 4 * width, before += width, c += width, dh += width, dc += width, dz += 4 * width;
  }
}

THALWEG_SIMD void backward_cell(const LstmSizes& s, const float* gates, const float* before,
                                const float* c, const float* dh, float* dc, float* dz) {
  backward_rows(s, gates, before, c, dh, dc, dz);
}
THALWEG_SIMD void backward_cell(const LstmSizes& s, const Bf16* gates, const float* before,
                                const float* c, const float* dh, float* dc, Bf16* dz) {
  backward_rows(s, gates, before, c, dh, dc, dz);
}

Desc rows_of(std::int64_t rows, std::int64_t width, Type type) {
  return Desc({rows, width}, type, Tag::ab);
}

/// A product with weights: of all inputs, or of h on its way from position to position.
struct Product {
  int weight, bias;  ///< parameters; no bias: -1
  std::int64_t inputs, outputs;
  Type type;

  InnerProduct shape(std::int64_t rows, const Desc& weights, Type result) const {
    return {rows_of(rows, inputs, type), weights, bias >= 0 ? Desc({outputs}, f32, Tag::a) : Desc(),
            rows_of(rows, outputs, result)};
  }
  Desc any(Type of) const { return Desc({outputs, inputs}, of, Tag::any); }
  auto forward_of(std::int64_t rows, Type result) const {
    return forward(shape(rows, any(type), result), false);
  }
  auto gradients_of(std::int64_t rows, const Desc& layout) const {
    return backward_weights(shape(rows, layout, type), forward_of(rows, type));
  }
  /// Adds the weights: in the forward layout, or in that of their gradients (over all rows) where
  /// forward wants a copy of another type anyway.
  template <class PrimitiveDesc>
  TensorId add_weights(Builder& b, const PrimitiveDesc& pd, std::int64_t all_rows) const {
    const Desc own =
        type == f32 ? pd.weights_desc() : gradients_of(all_rows, any(f32)).diff_weights_desc();
    b.parameter(weight, own, rows_of(outputs, inputs, f32));
    return b.weights(weight, pd.weights_desc());
  }
  void add_gradients(Builder& b, std::int64_t rows, Arguments arguments) const {
    const auto pd = prefer_layout([&](const Desc& layout) { return gradients_of(rows, layout); },
                                  any(f32), b.desc(b.gradient(weight)),
                                  [](const auto& p) { return p.diff_weights_desc(); });
    add_backward_weights(b, pd, std::move(arguments), weight, bias);
  }
  /// What makes gradients of the inputs, of type `result`, out of those of the outputs.
  auto input_gradients_of(std::int64_t rows, Type result) const {
    const auto hint = forward_of(rows, type);
    const auto make = [&](const Desc& layout) {
      InnerProduct back = shape(rows, layout, type);
      back.src = rows_of(rows, inputs, result);
      return backward_data(back, hint);
    };
    return prefer_layout(make, any(type), hint.weights_desc(),
                         [](const auto& p) { return p.weights_desc(); });
  }
};

/// What forward leaves for backward. c and h begin with the start, which is 0.
struct Saved {
  LstmSizes s;
  Product of_inputs, between;
  TensorId x, gates = -1, c = -1, h = -1;
};

Saved add_forward(Builder& b, const Node& node, const LstmSizes& s, TensorId x) {
  const std::int64_t gate = 4 * s.width;
  const int weight = node.first_parameter;
  const auto both = Builder::Pass::both;
  Saved k{s,
          {weight, weight + 2, s.features, gate, b.type()},
          {weight + 1, -1, s.width, gate, b.type()},
          x};
  const Desc row({gate}, f32, Tag::a);
  const auto inputs = k.of_inputs.forward_of(s.rows(), b.type());
  const auto between = k.between.forward_of(s.samples, f32);
  const TensorId w_ih = k.of_inputs.add_weights(b, inputs, s.rows());
  const TensorId w_hh = k.between.add_weights(b, between, s.rows());
  const TensorId bias_ih = b.parameter(weight + 2, row, row);
  const TensorId bias_hh = b.parameter(weight + 3, row, row);
  k.gates = b.activation(rows_of(s.rows(), gate, b.type()));
  k.c = b.activation(rows_of(s.rows() + s.samples, s.width, f32));
  k.h = b.activation(rows_of(s.rows() + s.samples, s.width, b.type()));
  const TensorId sums = b.activation(rows_of(s.samples, gate, f32));
  b.primitive(both, inputs,
              {{DNNL_ARG_SRC, x},
               {DNNL_ARG_WEIGHTS, w_ih},
               {DNNL_ARG_BIAS, bias_ih},
               {DNNL_ARG_DST, k.gates}});
  for (std::int64_t t = 0; t < s.positions; ++t) {
    const std::int64_t at = t * s.step();
    const TensorId before =
        b.view(k.h, rows_of(s.samples, s.width, b.type()), nullptr, static_cast<std::size_t>(at));
    if (t > 0)
      b.primitive(both, between,
                  {{DNNL_ARG_SRC, before}, {DNNL_ARG_WEIGHTS, w_hh}, {DNNL_ARG_DST, sums}});
    with_type(b.type(), [&](auto zero) {
      using T = decltype(zero);
      b.kernel(both, {k.gates, bias_hh, sums, k.c, k.h}, [=](const Frame& frame) {
        float* c = frame.floats(k.c) + at;
        T* h = frame.as<T>(k.h) + at;
        if (at == 0) {
          std::fill_n(c, s.step(), 0.0f);
          std::fill_n(h, s.step(), T{});
          std::fill_n(frame.floats(sums), 4 * s.step(), 0.0f);
        }
        advance(s, frame.floats(bias_hh), frame.floats(sums), c, frame.as<T>(k.gates) + 4 * at,
                c + s.step(), h + s.step());
      });
    });
  }
  return k;
}

/// Gradients of the sums, all positions; dy: of the output, whose last position only is given where
/// `last`.
TensorId add_gate_gradients(Builder& b, const Saved& k, TensorId dy, bool last) {
  const LstmSizes s = k.s;
  const auto back = Builder::Pass::backward;
  const auto pd = k.between.input_gradients_of(s.samples, f32);
  const TensorId w_hh = b.weights(k.between.weight, pd.weights_desc());
  const TensorId dz = b.activation(rows_of(s.rows(), 4 * s.width, b.type()));
  const Desc step = rows_of(s.samples, s.width, f32);
  const TensorId dh = b.activation(step), dc = b.activation(step);
  for (std::int64_t t = s.positions; t-- > 0;) {
    const std::int64_t at = t * s.step();
    const bool start = t + 1 == s.positions;
    with_type(b.type(), [&](auto zero) {
      using T = decltype(zero);
      b.kernel(back, {k.gates, k.c, dy, dh, dc, dz}, [=](const Frame& frame) {
        if (start) {
          std::fill_n(frame.floats(dh), s.step(), 0.0f);
          std::fill_n(frame.floats(dc), s.step(), 0.0f);
        }
        if (start || !last) add_to(frame.as<T>(dy) + (last ? 0 : at), s.step(), frame.floats(dh));
        const float* c = frame.floats(k.c) + at;
        backward_cell(s, frame.as<T>(k.gates) + 4 * at, c, c + s.step(), frame.floats(dh),
                      frame.floats(dc), frame.as<T>(dz) + 4 * at);
      });
    });
    if (t == 0) break;
    const TensorId dz_t = b.view(dz, rows_of(s.samples, 4 * s.width, b.type()), nullptr,
                                 static_cast<std::size_t>(4 * at));
    b.primitive(back, pd,
                {{DNNL_ARG_DIFF_DST, dz_t}, {DNNL_ARG_WEIGHTS, w_hh}, {DNNL_ARG_DIFF_SRC, dh}});
  }
  return dz;
}

TensorId add_input_gradients(Builder& b, const Saved& k, TensorId dz) {
  const auto pd = k.of_inputs.input_gradients_of(k.s.rows(), b.type());
  const TensorId w = b.weights(k.of_inputs.weight, pd.weights_desc());
  const TensorId dx = b.activation(pd.diff_src_desc());
  b.primitive(Builder::Pass::backward, pd,
              {{DNNL_ARG_DIFF_DST, dz}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DIFF_SRC, dx}});
  return dx;
}

}  // namespace

TensorId lstm(Builder& b, const Node& node, TensorId given) {
  const LayerPlan& layer = *node.layer;
  const LstmSizes s{b.samples(), layer.in[0], layer.in[1], layer.out.back()};
  const bool last = layer.out.size() == 1, wants_dx = b.wants_input_gradient();
  const Desc in({s.samples, s.positions, s.features}, b.type(), Tag::bac);
  const Desc out({s.samples, s.positions, s.width}, b.type(), Tag::bac);
  const Desc one = rows_of(s.samples, s.width, b.type());
  const TensorId x = b.view(b.in_layout(Builder::Pass::both, given, in),
                            rows_of(s.rows(), s.features, b.type()), nullptr);
  const Saved k = add_forward(b, node, s, x);
  b.keep(k.h);

  b.on_backward([=, &b](TensorId dy) {
    const auto back = Builder::Pass::backward;
    dy = b.in_layout(back, dy, last ? one : out);
    const TensorId dz = add_gate_gradients(b, k, dy, last);
    k.of_inputs.add_gradients(b, s.rows(), {{DNNL_ARG_SRC, k.x}, {DNNL_ARG_DIFF_DST, dz}});
    const TensorId bias_ih = b.gradient(k.of_inputs.bias);
    const TensorId bias_hh = b.gradient(k.of_inputs.bias + 1);
    b.kernel(back, {bias_ih, bias_hh}, [=](const Frame& frame) {
      std::copy_n(frame.floats(bias_ih), 4 * s.width, frame.floats(bias_hh));
    });
    b.ready(k.of_inputs.bias + 1);
    const TensorId before = b.view(k.h, rows_of(s.rows(), s.width, b.type()), nullptr);
    k.between.add_gradients(b, s.rows(), {{DNNL_ARG_SRC, before}, {DNNL_ARG_DIFF_DST, dz}});
    return wants_dx ? b.view(add_input_gradients(b, k, dz), in, nullptr) : dz;
  });
  const auto first = static_cast<std::size_t>((last ? s.positions : 1) * s.step());
  return b.view(k.h, last ? one : out, nullptr, first);
}

}  // namespace thalweg::engine::cpu
