#include "engine/layers/attention/cuda_attend.h"

#include <algorithm>
#include <cmath>

#include "engine/device/cuda/layout.h"
#include "engine/device/cuda/rows.h"
#include "engine/gpu/loops.h"

namespace thalweg::engine::cuda {
namespace {

/// What each query looks at from its scores; 0 where it may not look. In place where T is float.
template <class T>
struct Softmax {
  const float* scores;
  T* looks;
  std::int64_t queries, keys;
  bool causal;
  THALWEG_HOST_DEVICE void operator()(gpu::ThreadBlock block, std::int64_t row) const {
    const std::int64_t seen = causal ? row % queries + 1 : keys;
    const float* from = scores + row * keys;
    float mine = from[0], sum = 0;
    for (std::int64_t j = block.rank(); j < seen; j += block.size())
      mine = from[j] > mine ? from[j] : mine;
    const float largest = block.max(mine);
    for (std::int64_t j = block.rank(); j < seen; j += block.size())
      sum += expf(from[j] - largest);
    const float inverse = 1 / block.sum(sum);
    for (std::int64_t j = block.rank(); j < keys; j += block.size())
      looks[row * keys + j] = gpu::store<T>(j < seen ? expf(from[j] - largest) * inverse : 0);
  }
};

/// Gradients of the scores from those of what is looked at. In place where T is float.
template <class T>
struct SoftmaxGradients {
  const T* looks;
  const float* d_looks;
  T* gradients;
  std::int64_t queries, keys;
  bool causal;
  THALWEG_HOST_DEVICE void operator()(gpu::ThreadBlock block, std::int64_t row) const {
    const std::int64_t seen = causal ? row % queries + 1 : keys, first = row * keys;
    float mine = 0;
    for (std::int64_t j = block.rank(); j < seen; j += block.size())
      mine += gpu::load(looks[first + j]) * d_looks[first + j];
    const float mean = block.sum(mine);
    for (std::int64_t j = block.rank(); j < keys; j += block.size())
      gradients[first + j] =
          gpu::store<T>(j < seen ? gpu::load(looks[first + j]) * (d_looks[first + j] - mean) : 0);
  }
};

/// Matrices of all heads of all samples, in elements.
struct Matrices {
  TensorId tensor;
  std::int64_t first, row, sample, head;
};

Matrices rows_of(const Attention& a, const Heads& heads, std::int64_t positions) {
  return {heads.tensor, heads.first, heads.row, positions * heads.row, a.depth};
}

/// (samples, heads, queries, keys).
Matrices squares_of(const Attention& a, TensorId tensor) {
  const std::int64_t square = a.queries * a.keys;
  return {tensor, 0, a.keys, a.heads * square, square};
}

/// `product` of every head of every sample. A batch has one step, so that there is a call for each
/// sample or for each head, whichever are fewer.
void add_products(Builder& b, Builder::Pass pass, const Attention& attention, gpu::Product product,
                  const Matrices& left, const Matrices& right, const Matrices& result) {
  const bool by_head = attention.heads <= attention.samples;
  const auto step = [=](const Matrices& m) { return by_head ? m.sample : m.head; };
  product.a = product.b = b.desc(left.tensor).type;
  product.c = b.desc(result.tensor).type;
  product.products = b.products();
  product.row_a = left.row, product.row_b = right.row, product.row_c = result.row;
  product.step_a = step(left), product.step_b = step(right), product.step_c = step(result);
  product.batch = static_cast<int>(by_head ? attention.samples : attention.heads);
  const auto alignment = [&](const Matrices& m) {
    const auto size = static_cast<std::int64_t>(gpu::size_of(b.desc(m.tensor).type));
    const auto shift = static_cast<std::int64_t>(b.tensor(m.tensor).shift);
    return alignment_of({shift + m.first * size, m.sample * size, m.head * size});
  };
  product.alignment = std::min({alignment(left), alignment(right), alignment(result)});
  const std::shared_ptr<gpu::Call> call = b.library().product(product);
  const auto at = [&](const Matrices& m, std::int64_t turn) {
    const std::int64_t first = m.first + turn * (by_head ? m.head : m.sample);
    return b.view(m.tensor, b.desc(m.tensor), static_cast<std::size_t>(first));
  };
  for (std::int64_t i = 0; i < (by_head ? attention.heads : attention.samples); ++i)
    b.call(pass, call, {at(left, i), at(right, i), at(result, i), -1});
}

gpu::Product sizes(std::int64_t m, std::int64_t n, std::int64_t k) {
  gpu::Product product;
  product.m = m, product.n = n, product.k = k;
  return product;
}

float scale_of(const Attention& a) {
  return 1.0f / std::sqrt(static_cast<float>(a.depth));
}

TensorId part(Builder& b, const Heads& heads) {
  return b.view(heads.tensor, b.desc(heads.tensor), static_cast<std::size_t>(heads.first));
}
TensorId part(Builder& b, const Heads& values, TensorId gradients) {
  return part(b, {gradients, values.first, values.row});
}

gpu::FusedAttention fused_shape(const Attention& a) {
  const auto strides = [&](const Heads& heads, std::int64_t positions) {
    return gpu::FusedAttention::Strides{positions * heads.row, heads.row, a.depth};
  };
  gpu::FusedAttention shape;
  shape.samples = a.samples, shape.heads = a.heads;
  shape.queries = a.queries, shape.keys = a.keys, shape.width = a.depth;
  shape.q = strides(a.q, a.queries);
  shape.k = strides(a.k, a.keys), shape.v = strides(a.v, a.keys);
  shape.o = strides({-1, 0, a.width()}, a.queries);
  shape.scale = scale_of(a);
  shape.causal = a.causal;
  return shape;
}

/// `backward` null: the library has none.
Attended attend_fused(Builder& b, const Attention& a) {
  if (b.type() != Type::bf16) return {-1, -1, nullptr};
  gpu::FusedAttention shape = fused_shape(a);
  auto forward = b.library().attention(shape);
  shape.backward = true;
  Attended result{-1, -1, b.library().attention(shape)};
  if (forward == nullptr || result.backward == nullptr) return {-1, -1, nullptr};
  result.y = b.activation({a.samples, a.queries, a.width()}, b.type());
  result.saved = b.scratch(a.samples * a.heads * a.queries, sizeof(float));
  b.call(Builder::Pass::both, std::move(forward),
         {part(b, a.q), part(b, a.k), part(b, a.v), result.y, result.saved});
  b.keep(result.y);
  return result;
}

}  // namespace

Attended attend(Builder& b, const Attention& a) {
  const Attended fused = attend_fused(b, a);
  if (fused.backward != nullptr) return fused;
  const auto both = Builder::Pass::both;
  const Type type = b.type();
  const Shape square{a.samples, a.heads, a.queries, a.keys};
  const std::int64_t rows = a.samples * a.heads * a.queries;
  const TensorId scores = b.activation({rows, a.keys}, Type::f32);
  const TensorId looks = type == Type::f32 ? scores : b.activation({rows, a.keys}, type);
  const TensorId y = b.activation({a.samples, a.queries, a.width()}, type);
  gpu::Product to_scores = sizes(a.queries, a.keys, a.depth);
  to_scores.transpose_b = true;
  to_scores.alpha = scale_of(a);
  add_products(b, both, a, to_scores, rows_of(a, a.q, a.queries), rows_of(a, a.k, a.keys),
               squares_of(a, scores));
  b.kernel(both, {scores, looks}, [=](const Frame& frame) {
    gpu::with_type(type, [&](auto t) {
      using T = decltype(t);
      gpu::for_each_row(
          frame.stream, rows, team_for(a.keys),
          Softmax<T>{frame.floats(scores), frame.as<T>(looks), a.queries, a.keys, a.causal});
    });
  });
  add_products(b, both, a, sizes(a.queries, a.depth, a.keys), squares_of(a, looks),
               rows_of(a, a.v, a.keys), rows_of(a, {y, 0, a.width()}, a.queries));
  return {y, looks, nullptr};
}

void attend_backward(Builder& b, const Attention& a, const Attended& of, TensorId dy, TensorId dq,
                     TensorId dk, TensorId dv) {
  const auto back = Builder::Pass::backward;
  if (of.backward != nullptr) {
    b.call(back, of.backward,
           {part(b, a.q), part(b, a.k), part(b, a.v), of.y, dy, of.saved, part(b, a.q, dq),
            part(b, a.k, dk), part(b, a.v, dv)});
    return;
  }
  const Type type = b.type();
  const std::int64_t rows = a.samples * a.heads * a.queries;
  const TensorId looks = of.saved, d_looks = b.activation({rows, a.keys}, Type::f32);
  const TensorId gradients = type == Type::f32 ? d_looks : b.activation({rows, a.keys}, type);
  const Matrices d_rows = rows_of(a, {dy, 0, a.width()}, a.queries);
  const auto d_part = [&](const Heads& values, TensorId tensor, std::int64_t positions) {
    return rows_of(a, {tensor, values.first, values.row}, positions);
  };
  gpu::Product to_looks = sizes(a.queries, a.keys, a.depth);
  to_looks.transpose_b = true;
  add_products(b, back, a, to_looks, d_rows, rows_of(a, a.v, a.keys), squares_of(a, d_looks));
  gpu::Product to_keys = sizes(a.keys, a.depth, a.queries);
  to_keys.transpose_a = true;
  add_products(b, back, a, to_keys, squares_of(a, looks), d_rows, d_part(a.v, dv, a.keys));
  b.kernel(back, {looks, d_looks, gradients}, [=](const Frame& frame) {
    gpu::with_type(type, [&](auto t) {
      using T = decltype(t);
      gpu::for_each_row(frame.stream, rows, team_for(a.keys),
                        SoftmaxGradients<T>{frame.as<T>(looks), frame.floats(d_looks),
                                            frame.as<T>(gradients), a.queries, a.keys, a.causal});
    });
  });
  gpu::Product to_queries = sizes(a.queries, a.depth, a.keys);
  to_queries.alpha = to_keys.alpha = scale_of(a);
  add_products(b, back, a, to_queries, squares_of(a, gradients), rows_of(a, a.k, a.keys),
               d_part(a.q, dq, a.queries));
  add_products(b, back, a, to_keys, squares_of(a, gradients), rows_of(a, a.q, a.queries),
               d_part(a.k, dk, a.keys));
}

}  // namespace thalweg::engine::cuda
