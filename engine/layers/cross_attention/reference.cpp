// cross_attention: the positions of the first input, (positions, width) queries, look at those of
// the second, (others, 2 width) keys and values concatenated; each in `heads` equal parts:
// softmax(q k^T / sqrt(d)) v of every head, d = width / heads (Vaswani et al., arXiv:1706.03762).
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "engine/device/reference/softmax.h"
#include "engine/layers/cross_attention/options.h"
#include "engine/layers/row.h"

namespace thalweg::engine::reference {
namespace {

void cross_attention_plan(LayerPlan& layer, const jobspec::Options& options) {
  const std::int64_t heads = options.integer("heads");
  const Shape &q = layer.ins[0], &kv = layer.ins[1];
  if (q.size() != 2 || q[1] % heads != 0)
    throw std::invalid_argument("expects queries (positions, width) with a width that " +
                                std::to_string(heads) + " heads divide, got " + to_text(q));
  if (kv.size() != 2 || kv[1] != 2 * q[1])
    throw std::invalid_argument("expects keys and values (positions, " + std::to_string(2 * q[1]) +
                                "), got " + to_text(kv));
  layer.out = q;
  layer.options = CrossAttentionOptions{heads};
}

/// Queries by keys, and weights by values.
LayerFlops cross_attention_flops(const LayerPlan& layer) {
  return LayerFlops::between_inputs(
      static_cast<double>(2 * layer.ins[0][0] * layer.ins[1][0] * layer.out.back()));
}

/// One head of one sample: where its rows stand.
struct CrossAttentionHead {
  std::int64_t positions, others, depth, width;
  std::int64_t first_q, first_kv;

  std::int64_t q(std::int64_t i, std::int64_t d) const { return first_q + i * width + d; }
  std::int64_t k(std::int64_t j, std::int64_t d) const { return first_kv + j * 2 * width + d; }
  std::int64_t v(std::int64_t j, std::int64_t d) const { return k(j, d) + width; }
};

template <class Visit>
void cross_attention_for_each_head(const LayerPlan& layer, int samples, Visit visit) {
  const std::int64_t heads = layer.options_as<CrossAttentionOptions>().heads, width = layer.out[1];
  CrossAttentionHead head{layer.ins[0][0], layer.ins[1][0], width / heads, width, 0, 0};
  for (int n = 0; n < samples; ++n)
    for (std::int64_t h = 0; h < heads; ++h) {
      head.first_q = n * elements(layer.ins[0]) + h * head.depth;
      head.first_kv = n * elements(layer.ins[1]) + h * head.depth;
      visit(head);
    }
}

/// What position i looks at.
template <class T>
std::vector<T> cross_attention_attend(const CrossAttentionHead& head, const T* q, const T* kv,
                                      std::int64_t i) {
  std::vector<T> a(static_cast<std::size_t>(head.others));
  const T scale = 1 / std::sqrt(static_cast<T>(head.depth));
  for (std::size_t j = 0; j < a.size(); ++j)
    for (std::int64_t d = 0; d < head.depth; ++d)
      a[j] += scale * q[head.q(i, d)] * kv[head.k(static_cast<std::int64_t>(j), d)];
  softmax(a.data(), static_cast<std::int64_t>(a.size()), 1, a.data());
  return a;
}

template <class T>
void cross_attention_forward(const LayerPlan& layer, const Call<T>& call) {
  const T *q = call.xs[0], *kv = call.xs[1];
  cross_attention_for_each_head(layer, call.samples(), [&](const CrossAttentionHead& head) {
    for (std::int64_t i = 0; i < head.positions; ++i) {
      const std::vector<T> a = cross_attention_attend(head, q, kv, i);
      for (std::int64_t d = 0; d < head.depth; ++d) {
        T sum = 0;
        for (std::size_t j = 0; j < a.size(); ++j)
          sum += a[j] * kv[head.v(static_cast<std::int64_t>(j), d)];
        call.y[head.q(i, d)] = sum;
      }
    }
  });
}

template <class T>
void cross_attention_backward(const LayerPlan& layer, const Call<T>& call) {
  const T *q = call.xs[0], *kv = call.xs[1];
  T *dq = call.dxs[0], *dkv = call.dxs[1];
  if (dq != nullptr) std::fill_n(dq, call.samples() * elements(layer.ins[0]), T{0});
  if (dkv != nullptr) std::fill_n(dkv, call.samples() * elements(layer.ins[1]), T{0});
  const auto add = [](T* to, std::int64_t at, T value) {
    if (to != nullptr) to[at] += value;
  };
  cross_attention_for_each_head(layer, call.samples(), [&](const CrossAttentionHead& head) {
    const T scale = 1 / std::sqrt(static_cast<T>(head.depth));
    for (std::int64_t i = 0; i < head.positions; ++i) {
      const std::vector<T> a = cross_attention_attend(head, q, kv, i);
      std::vector<T> da(a.size());
      T mean = 0;
      for (std::size_t at = 0; at < a.size(); ++at) {
        const auto j = static_cast<std::int64_t>(at);
        for (std::int64_t d = 0; d < head.depth; ++d) {
          da[at] += call.dy[head.q(i, d)] * kv[head.v(j, d)];
          add(dkv, head.v(j, d), a[at] * call.dy[head.q(i, d)]);
        }
        mean += a[at] * da[at];
      }
      for (std::size_t at = 0; at < a.size(); ++at) {
        const auto j = static_cast<std::int64_t>(at);
        const T gradient = scale * a[at] * (da[at] - mean);
        for (std::int64_t d = 0; d < head.depth; ++d) {
          add(dq, head.q(i, d), gradient * kv[head.k(j, d)]);
          add(dkv, head.k(j, d), gradient * q[head.q(i, d)]);
        }
      }
    }
  });
}

}  // namespace

const Layer cross_attention{cross_attention_plan,
                            {cross_attention_forward<float>, cross_attention_backward<float>},
                            {cross_attention_forward<double>, cross_attention_backward<double>},
                            cross_attention_flops};

}  // namespace thalweg::engine::reference

namespace thalweg::engine::layers {

LayerKind cross_attention() {
  return {
      .doc =
          "multi-head cross-attention: queries of the first input, keys and values of the second",
      .options = {required("heads", "number of attention heads")},
      .reference = &reference::cross_attention,
      .inputs = 2,
      .floats_on_cpu = true};
}

}  // namespace thalweg::engine::layers
