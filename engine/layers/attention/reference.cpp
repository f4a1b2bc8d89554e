// attention: of (positions, 3 width) that hold queries, keys and values concatenated, each in
// `heads` equal parts: softmax(q k^T / sqrt(d)) v of every head, d = width / heads; causal: a
// position sees itself and those before it (Vaswani et al., arXiv:1706.03762).
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "engine/device/reference/softmax.h"
#include "engine/layers/attention/options.h"
#include "engine/layers/row.h"

namespace thalweg::engine::reference {
namespace {

void attention_plan(LayerPlan& layer, const jobspec::Options& options) {
  const std::int64_t heads = options.integer("heads");
  if (layer.in.size() != 2 || layer.in[1] % (3 * heads) != 0)
    throw std::invalid_argument("expects (positions, 3 width) with a width that " +
                                std::to_string(heads) + " heads divide, got " + to_text(layer.in));
  layer.out = {layer.in[0], layer.in[1] / 3};
  layer.options = AttentionOptions{heads, options.flag("causal")};
}

/// Queries by keys, and weights by values: all positions with all, as kernels that do not skip the
/// masked ones would.
LayerFlops attention_flops(const LayerPlan& layer) {
  return LayerFlops::between_inputs(
      static_cast<double>(2 * layer.in[0] * layer.in[0] * layer.out.back()));
}

/// One head of one sample: rows of q, k, v and of the output.
struct AttentionHead {
  std::int64_t positions, depth, width;
  std::int64_t in, out;  ///< of its first element
  bool causal;

  std::int64_t q(std::int64_t i, std::int64_t d) const { return in + i * 3 * width + d; }
  std::int64_t k(std::int64_t i, std::int64_t d) const { return q(i, d) + width; }
  std::int64_t v(std::int64_t i, std::int64_t d) const { return q(i, d) + 2 * width; }
  std::int64_t o(std::int64_t i, std::int64_t d) const { return out + i * width + d; }
  std::int64_t seen(std::int64_t i) const { return causal ? i + 1 : positions; }
};

template <class Visit>
void attention_for_each_head(const LayerPlan& layer, int samples, Visit visit) {
  const auto& [heads, causal] = layer.options_as<AttentionOptions>();
  const std::int64_t width = layer.out[1];
  AttentionHead head{layer.in[0], width / heads, width, 0, 0, causal};
  for (int n = 0; n < samples; ++n)
    for (std::int64_t h = 0; h < heads; ++h) {
      head.in = n * elements(layer.in) + h * head.depth;
      head.out = n * elements(layer.out) + h * head.depth;
      visit(head);
    }
}

/// What position i looks at: the softmax over the positions it sees.
template <class T>
std::vector<T> attention_attend(const AttentionHead& head, const T* x, std::int64_t i) {
  std::vector<T> a(static_cast<std::size_t>(head.seen(i)));
  const T scale = 1 / std::sqrt(static_cast<T>(head.depth));
  for (std::size_t j = 0; j < a.size(); ++j)
    for (std::int64_t d = 0; d < head.depth; ++d)
      a[j] += scale * x[head.q(i, d)] * x[head.k(static_cast<std::int64_t>(j), d)];
  softmax(a.data(), static_cast<std::int64_t>(a.size()), 1, a.data());
  return a;
}

template <class T>
void attention_forward(const LayerPlan& layer, const Call<T>& call) {
  attention_for_each_head(layer, call.samples(), [&](const AttentionHead& head) {
    for (std::int64_t i = 0; i < head.positions; ++i) {
      const std::vector<T> a = attention_attend(head, call.x, i);
      for (std::int64_t d = 0; d < head.depth; ++d) {
        T sum = 0;
        for (std::size_t j = 0; j < a.size(); ++j)
          sum += a[j] * call.x[head.v(static_cast<std::int64_t>(j), d)];
        call.y[head.o(i, d)] = sum;
      }
    }
  });
}

template <class T>
void attention_backward(const LayerPlan& layer, const Call<T>& call) {
  if (call.dx == nullptr) return;
  std::fill_n(call.dx, call.samples() * elements(layer.in), T{0});
  attention_for_each_head(layer, call.samples(), [&](const AttentionHead& head) {
    const T scale = 1 / std::sqrt(static_cast<T>(head.depth));
    for (std::int64_t i = 0; i < head.positions; ++i) {
      const std::vector<T> a = attention_attend(head, call.x, i);
      std::vector<T> da(a.size());
      T mean = 0;
      for (std::size_t at = 0; at < a.size(); ++at) {
        const auto j = static_cast<std::int64_t>(at);
        for (std::int64_t d = 0; d < head.depth; ++d) {
          da[at] += call.dy[head.o(i, d)] * call.x[head.v(j, d)];
          call.dx[head.v(j, d)] += a[at] * call.dy[head.o(i, d)];
        }
        mean += a[at] * da[at];
      }
      for (std::size_t at = 0; at < a.size(); ++at) {
        const auto j = static_cast<std::int64_t>(at);
        const T gradient = scale * a[at] * (da[at] - mean);
        for (std::int64_t d = 0; d < head.depth; ++d) {
          call.dx[head.q(i, d)] += gradient * call.x[head.k(j, d)];
          call.dx[head.k(j, d)] += gradient * call.x[head.q(i, d)];
        }
      }
    }
  });
}

}  // namespace

const Layer attention{attention_plan,
                      {attention_forward<float>, attention_backward<float>},
                      {attention_forward<double>, attention_backward<double>},
                      attention_flops};

}  // namespace thalweg::engine::reference

namespace thalweg::engine::layers {

LayerKind attention() {
  return {
      .doc =
          "multi-head scaled dot-product self-attention over queries, keys and values in one "
          "tensor",
      .options = {required("heads", "number of attention heads"),
                  flag_option("causal", false, "a position sees only itself and those before it")},
      .reference = &reference::attention};
}

}  // namespace thalweg::engine::layers
