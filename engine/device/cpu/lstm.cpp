// lstm with positions outermost: one product for all inputs; then, position by position, a product
// with the weights between positions that adds to it and a loop of our own for the rest. Backward
// goes the other way; the weights' gradients are one product each. The output keeps that order, so
// that an lstm after it moves nothing.
#include <algorithm>

#include "engine/device/cpu/builder.h"
#include "engine/device/cpu/exponential.h"
#include "engine/device/cpu/layer.h"
#include "engine/tensor/simd.h"

namespace thalweg::engine::cpu {
namespace {

struct Sizes {
  std::int64_t samples, positions, features, width;

  std::int64_t rows() const { return samples * positions; }
  std::int64_t step() const { return samples * width; }  ///< floats of c or h at a position
};

/// z: sums become i, f, g, o, in place.
THALWEG_SIMD void advance(const Sizes& s, const float* __restrict bias,
                          const float* __restrict before, float* __restrict z, float* __restrict c,
                          float* __restrict h) {
  const std::int64_t width = s.width;
  for (std::int64_t n = 0; n < s.samples; ++n) {
    float* __restrict i = z;
    float* __restrict f = z + width;
    float* __restrict g = z + 2 * width;
    float* __restrict o = z + 3 * width;
    for (std::int64_t j = 0; j < width; ++j) {
      i[j] = logistic(i[j] + bias[j]);
      f[j] = logistic(f[j] + bias[width + j]);
      g[j] = hyperbolic_tangent(g[j] + bias[2 * width + j]);
      o[j] = logistic(o[j] + bias[3 * width + j]);
      c[j] = f[j] * before[j] + i[j] * g[j];
      h[j] = o[j] * hyperbolic_tangent(c[j]);
    }
    z += 4 * width, before += width, c += width, h += width;
  }
}

THALWEG_SIMD void add_to(const float* __restrict from, std::int64_t count, float* __restrict into) {
  for (std::int64_t i = 0; i < count; ++i)
    into[i] += from[i];
}

/// dz from the slopes of h and c; dc becomes the slope of c at the position before.
THALWEG_SIMD void go_back(const Sizes& s, const float* __restrict gates,
                          const float* __restrict before, const float* __restrict c,
                          const float* __restrict dh, float* __restrict dc, float* __restrict dz) {
  const std::int64_t width = s.width;
  for (std::int64_t n = 0; n < s.samples; ++n) {
    const float* __restrict i = gates;
    const float* __restrict f = gates + width;
    const float* __restrict g = gates + 2 * width;
    const float* __restrict o = gates + 3 * width;
    for (std::int64_t j = 0; j < width; ++j) {
      const float level = hyperbolic_tangent(c[j]);
      const float slope = dc[j] + dh[j] * o[j] * (1 - level * level);
      dz[j] = slope * g[j] * i[j] * (1 - i[j]);
      dz[width + j] = slope * before[j] * f[j] * (1 - f[j]);
      dz[2 * width + j] = slope * i[j] * (1 - g[j] * g[j]);
      dz[3 * width + j] = dh[j] * level * o[j] * (1 - o[j]);
      dc[j] = slope * f[j];
    }
    gates += 4 * width, before += width, c += width, dh += width, dc += width, dz += 4 * width;
  }
}

Desc rows_of(std::int64_t rows, std::int64_t width) {
  return Desc({rows, width}, f32, Tag::ab);
}

/// What forward leaves for backward. c and h begin with the start, which is 0.
struct Kept {
  Sizes s;
  int first_parameter;
  TensorId x, gates, c, h, w_ih, w_hh;

  InnerProduct of_inputs() const {
    const std::int64_t gate = 4 * s.width;
    return {rows_of(s.rows(), s.features), Desc({gate, s.features}, f32, Tag::any),
            Desc({gate}, f32, Tag::a), rows_of(s.rows(), gate)};
  }
  InnerProduct between_positions(std::int64_t rows) const {
    const std::int64_t gate = 4 * s.width;
    return {rows_of(rows, s.width), Desc({gate, s.width}, f32, Tag::any), Desc(),
            rows_of(rows, gate)};
  }
};

Kept add_forward(Builder& b, const Node& node, const Sizes& s, TensorId x) {
  const std::int64_t gate = 4 * s.width;
  Kept k{s, node.first_parameter, x, 0, 0, 0, 0, 0};
  const Desc row({gate}, f32, Tag::a);
  const auto inputs = forward(k.of_inputs(), false);
  const auto between = forward_adding(k.between_positions(s.samples));
  k.w_ih = b.parameter(k.first_parameter, inputs.weights_desc(), rows_of(gate, s.features));
  k.w_hh = b.parameter(k.first_parameter + 1, between.weights_desc(), rows_of(gate, s.width));
  const TensorId bias_ih = b.parameter(k.first_parameter + 2, row, row);
  const TensorId bias_hh = b.parameter(k.first_parameter + 3, row, row);
  k.gates = b.activation(rows_of(s.rows(), gate));
  k.c = b.activation(rows_of(s.rows() + s.samples, s.width));
  k.h = b.activation(rows_of(s.rows() + s.samples, s.width));
  b.primitive(Builder::Pass::both, inputs,
              {{DNNL_ARG_SRC, x},
               {DNNL_ARG_WEIGHTS, k.w_ih},
               {DNNL_ARG_BIAS, bias_ih},
               {DNNL_ARG_DST, k.gates}});
  for (std::int64_t t = 0; t < s.positions; ++t) {
    const std::int64_t at = t * s.step();
    const auto view = [&](TensorId of, std::int64_t width) {
      return b.view(of, rows_of(s.samples, width), nullptr,
                    static_cast<std::size_t>(t * s.samples * width));
    };
    if (t > 0)
      b.primitive(Builder::Pass::both, between,
                  {{DNNL_ARG_SRC, view(k.h, s.width)},
                   {DNNL_ARG_WEIGHTS, k.w_hh},
                   {DNNL_ARG_DST, view(k.gates, gate)}});
    b.kernel(Builder::Pass::both, {k.gates, bias_hh, k.c, k.h}, [=](const Frame& frame) {
      float *c = frame.floats(k.c) + at, *h = frame.floats(k.h) + at;
      if (at == 0) std::fill_n(c, s.step(), 0.0f), std::fill_n(h, s.step(), 0.0f);
      advance(s, frame.floats(bias_hh), c, frame.floats(k.gates) + 4 * at, c + s.step(),
              h + s.step());
    });
  }
  return k;
}

/// Slopes of the sums, all positions; dy: of the output, whose last position only is given where
/// `last`.
TensorId add_slopes(Builder& b, const Kept& k, TensorId dy, bool last) {
  const Sizes s = k.s;
  const auto back = Builder::Pass::backward;
  const InnerProduct shape = k.between_positions(s.samples);
  const auto hint = forward(shape, false);
  const auto pd = prefer_layout(
      [&](const Desc& layout) {
        return backward_data(InnerProduct{shape.src, layout, shape.bias, shape.dst}, hint);
      },
      shape.weights, b.desc(k.w_hh), [](const auto& p) { return p.weights_desc(); });
  const TensorId w_hh = b.in_layout(back, k.w_hh, pd.weights_desc());
  const TensorId dz = b.activation(rows_of(s.rows(), 4 * s.width));
  const TensorId dh = b.activation(shape.src), dc = b.activation(shape.src);
  for (std::int64_t t = s.positions; t-- > 0;) {
    const std::int64_t at = t * s.step();
    const bool start = t + 1 == s.positions;
    b.kernel(back, {k.gates, k.c, dy, dh, dc, dz}, [=](const Frame& frame) {
      if (start) {
        std::fill_n(frame.floats(dh), s.step(), 0.0f);
        std::fill_n(frame.floats(dc), s.step(), 0.0f);
      }
      if (start || !last) add_to(frame.floats(dy) + (last ? 0 : at), s.step(), frame.floats(dh));
      const float* c = frame.floats(k.c) + at;
      go_back(s, frame.floats(k.gates) + 4 * at, c, c + s.step(), frame.floats(dh),
              frame.floats(dc), frame.floats(dz) + 4 * at);
    });
    if (t == 0) break;
    const TensorId dz_t = b.view(dz, shape.dst, nullptr, static_cast<std::size_t>(4 * at));
    b.primitive(back, pd,
                {{DNNL_ARG_DIFF_DST, dz_t}, {DNNL_ARG_WEIGHTS, w_hh}, {DNNL_ARG_DIFF_SRC, dh}});
  }
  return dz;
}

/// The gradient of weights (a parameter) that all positions share, and of a bias (none: -1).
void add_weights(Builder& b, const InnerProduct& shape, int weight, TensorId w, int bias,
                 Arguments arguments) {
  const auto hint = forward(shape, false);
  const auto pd = prefer_layout(
      [&](const Desc& layout) {
        return backward_weights(InnerProduct{shape.src, layout, shape.bias, shape.dst}, hint);
      },
      shape.weights, b.desc(w), [](const auto& p) { return p.diff_weights_desc(); });
  add_backward_weights(b, pd, std::move(arguments), weight, bias);
}

TensorId add_input_slopes(Builder& b, const Kept& k, TensorId dz) {
  const auto back = Builder::Pass::backward;
  const InnerProduct shape = k.of_inputs();
  const auto hint = forward(shape, false);
  const auto pd = prefer_layout(
      [&](const Desc& layout) {
        return backward_data(InnerProduct{shape.src, layout, shape.bias, shape.dst}, hint);
      },
      shape.weights, b.desc(k.w_ih), [](const auto& p) { return p.weights_desc(); });
  const TensorId w = b.in_layout(back, k.w_ih, pd.weights_desc());
  const TensorId dx = b.activation(shape.src);
  b.primitive(back, pd, {{DNNL_ARG_DIFF_DST, dz}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DIFF_SRC, dx}});
  return dx;
}

}  // namespace

TensorId lstm(Builder& b, const Node& node, TensorId given) {
  const LayerPlan& layer = *node.layer;
  const Sizes s{b.samples(), layer.in[0], layer.in[1], layer.integer("width")};
  const bool last = layer.out.size() == 1, wants_dx = b.wants_input_gradient();
  const Desc in({s.samples, s.positions, s.features}, f32, Tag::bac);
  const Desc out({s.samples, s.positions, s.width}, f32, Tag::bac);
  const Desc one = rows_of(s.samples, s.width);
  const TensorId x =
      b.view(b.in_layout(Builder::Pass::both, given, in), rows_of(s.rows(), s.features), nullptr);
  const Kept k = add_forward(b, node, s, x);
  b.keep(k.h);

  b.on_backward([=, &b](TensorId dy) {
    const int weight = k.first_parameter;
    dy = b.in_layout(Builder::Pass::backward, dy, last ? one : out);
    const TensorId dz = add_slopes(b, k, dy, last);
    add_weights(b, k.of_inputs(), weight, k.w_ih, weight + 2,
                {{DNNL_ARG_SRC, k.x}, {DNNL_ARG_DIFF_DST, dz}});
    const TensorId bias_ih = b.gradient(weight + 2), bias_hh = b.gradient(weight + 3);
    b.kernel(Builder::Pass::backward, {bias_ih, bias_hh}, [=](const Frame& frame) {
      std::copy_n(frame.floats(bias_ih), 4 * s.width, frame.floats(bias_hh));
    });
    b.ready(weight + 3);
    const TensorId before = b.view(k.h, rows_of(s.rows(), s.width), nullptr);
    add_weights(b, k.between_positions(s.rows()), weight + 1, k.w_hh, -1,
                {{DNNL_ARG_SRC, before}, {DNNL_ARG_DIFF_DST, dz}});
    return wants_dx ? b.view(add_input_slopes(b, k, dz), in, nullptr) : dz;
  });
  const auto first = static_cast<std::size_t>((last ? s.positions : 1) * s.step());
  return b.view(k.h, last ? one : out, nullptr, first);
}

}  // namespace thalweg::engine::cpu
