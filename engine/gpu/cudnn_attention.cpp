// cuDNN has no operation for a whole attention with a mask in all the versions that we build with,
// but knows the graph of one and replaces it with a fused kernel: products, a mask of indices, and
// a softmax in parts. Its guide names the graphs: "Fused Attention Fprop" and "Bprop" in
// https://docs.nvidia.com/deeplearning/cudnn/backend/latest/developer/graph-api.html
#include "engine/gpu/cudnn_attention.h"

#include <limits>

#include "engine/gpu/names.h"

namespace thalweg::engine::gpu {
namespace {

constexpr auto kFloat = CUDNN_DATA_FLOAT;
constexpr auto kBf16 = CUDNN_DATA_BFLOAT16;

/// Makes the graph. Tensors are numbered in the order of library.h, from 1 on.
class AttentionGraph {
 public:
  explicit AttentionGraph(const FusedAttention& f)
      : f_(f),
        scores_{f.samples, f.heads, f.queries, f.keys},
        of_scores_(side_by_side(scores_)),
        row_{f.samples, f.heads, f.queries, 1},
        of_row_(side_by_side(row_)) {
    if (f.backward) {
      backward();
    } else {
      forward();
    }
  }
  CudnnGraph take() { return std::move(graph_); }
  /// Of a sum for each query that the backward graph keeps in the workspace.
  static constexpr std::int64_t kAlong = 10;

 private:
  using Strides = FusedAttention::Strides;
  using D = CudnnDescriptor;

  static Sizes side_by_side(const Sizes& s) { return {s[1] * s[2] * s[3], s[2] * s[3], s[3], 1}; }
  /// (sample, head, position, feature)
  D rows(std::int64_t id, std::int64_t positions, const Strides& s) const {
    return graph_.tensor(id, kBf16, {f_.samples, f_.heads, positions, f_.width},
                         {s.sample, s.head, s.position, 1});
  }
  /// (sample, head, feature, position)
  D columns(std::int64_t id, std::int64_t positions, const Strides& s) const {
    return graph_.tensor(id, kBf16, {f_.samples, f_.heads, f_.width, positions},
                         {s.sample, s.head, 1, s.position});
  }
  D like_scores(cudnnDataType_t type = kFloat) { return graph_.between(type, scores_, of_scores_); }
  D per_row() { return graph_.between(kFloat, row_, of_row_); }
  D stats(std::int64_t id) const { return graph_.tensor(id, kFloat, row_, of_row_); }

  D with(cudnnPointwiseMode_t mode, const D& x, const D& b) {
    D y = like_scores();
    graph_.pointwise(mode, x, y, &b);
    return y;
  }
  D scaled(const D& x) { return with(CUDNN_POINTWISE_MUL, x, graph_.scalar(f_.scale, 4)); }
  /// Very small where a query may not look.
  D masked(const D& x) {
    if (!f_.causal) return x;
    const D query = like_scores(CUDNN_DATA_INT32), key = like_scores(CUDNN_DATA_INT32);
    const D seen = like_scores(CUDNN_DATA_BOOLEAN);
    const D least = graph_.scalar(std::numeric_limits<float>::lowest(), 4);
    D y = like_scores();
    graph_.index(2, x, query);
    graph_.index(3, x, key);
    graph_.pointwise(CUDNN_POINTWISE_CMP_GE, query, seen, &key, nullptr, CUDNN_DATA_BOOLEAN);
    graph_.pointwise(CUDNN_POINTWISE_BINARY_SELECT, x, y, &least, &seen);
    return y;
  }
  D raw_scores(const D& q, const D& k) {
    const D s = like_scores();
    graph_.matmul(q, k, s);
    return scaled(s);
  }
  /// (sample, head, key, query), in bf16
  D turned(const D& x) {
    D y = graph_.between(kBf16, {scores_[0], scores_[1], scores_[3], scores_[2]},
                         {of_scores_[0], of_scores_[1], 1, scores_[3]});
    graph_.reshape(x, y);
    return y;
  }

  void forward() {
    const D s = masked(raw_scores(rows(1, f_.queries, f_.q), columns(2, f_.keys, f_.k)));
    const D largest = per_row(), sum = per_row(), logarithm = per_row();
    graph_.reduce(CUDNN_REDUCE_TENSOR_MAX, s, largest);
    const D less = with(CUDNN_POINTWISE_SUB, s, largest), power = like_scores();
    graph_.pointwise(CUDNN_POINTWISE_EXP, less, power);
    graph_.reduce(CUDNN_REDUCE_TENSOR_ADD, power, sum);
    graph_.pointwise(CUDNN_POINTWISE_LOG, sum, logarithm);
    graph_.pointwise(CUDNN_POINTWISE_ADD, largest, stats(5), &logarithm);
    const D p = like_scores(kBf16);
    graph_.pointwise(CUDNN_POINTWISE_DIV, power, p, &sum);
    graph_.matmul(p, rows(3, f_.keys, f_.v), rows(4, f_.queries, f_.o));
  }

  void backward() {
    const D q = rows(1, f_.queries, f_.q), k = columns(2, f_.keys, f_.k);
    const D d_o = rows(5, f_.queries, f_.o);
    // Along each query's output: the sum of gradient times value.
    const Sizes out{f_.samples, f_.heads, f_.queries, f_.width};
    const D products = graph_.between(kFloat, out, side_by_side(out)), sum = per_row();
    const D o = rows(4, f_.queries, f_.o), along = stats(kAlong), one = graph_.scalar(1, 4);
    graph_.pointwise(CUDNN_POINTWISE_MUL, d_o, products, &o);
    graph_.reduce(CUDNN_REDUCE_TENSOR_ADD, products, sum);
    graph_.pointwise(CUDNN_POINTWISE_MUL, sum, along, &one);
    // The probabilities anew, and V's gradient.
    const D s = masked(with(CUDNN_POINTWISE_SUB, raw_scores(q, k), stats(6))), p = like_scores();
    graph_.pointwise(CUDNN_POINTWISE_EXP, s, p);
    graph_.matmul(turned(p), d_o, rows(9, f_.keys, f_.v));
    // The scores' gradient, and those of K and Q.
    const D dp = like_scores();
    graph_.matmul(d_o, columns(3, f_.keys, f_.v), dp);
    const D ds = scaled(with(CUDNN_POINTWISE_MUL, with(CUDNN_POINTWISE_SUB, dp, along), p));
    graph_.matmul(turned(ds), q, rows(8, f_.keys, f_.k));
    const D k_rows = graph_.between(kBf16, {f_.samples, f_.heads, f_.keys, f_.width},
                                    {f_.k.sample, f_.k.head, f_.k.position, 1});
    graph_.reshape(k, k_rows);
    graph_.matmul(ds, k_rows, rows(7, f_.queries, f_.q));
  }

  FusedAttention f_;
  Sizes scores_, of_scores_, row_, of_row_;
  CudnnGraph graph_;
};

class CudnnAttention final : public Call {
 public:
  CudnnAttention(CudnnTarget& target, const FusedAttention& shape)
      : shape_(shape),
        plans_(target.plans(key_of(shape), name(), [&] { return graph_of(shape); }, {})) {}

  const CudnnPlans& plans() const { return *plans_; }
  std::string name() const override { return name_of(shape_); }
  std::string key() const override { return key_of(shape_); }
  int algorithms() const override { return plans_->count(); }
  std::string algorithm_name(int algorithm) const override { return plans_->name(algorithm); }
  std::size_t workspace(int algorithm) const override {
    return saved_bytes() + plans_->workspace(algorithm);
  }

  void run(Stream& stream, std::span<void* const> tensors, void* workspace) const override {
    if (workspace == nullptr && this->workspace(chosen()) > 0)
      throw GpuError(name() + " runs without its workspace");
    std::vector<void*> at(tensors.begin(), tensors.begin() + (shape_.backward ? 9 : 5));
    std::vector<std::int64_t> ids;
    for (std::size_t i = 0; i < at.size(); ++i)
      ids.push_back(static_cast<std::int64_t>(i) + 1);
    if (shape_.backward) {
      ids.push_back(AttentionGraph::kAlong);
      at.push_back(workspace);
    }
    plans_->run(stream, chosen(), ids, at, static_cast<char*>(workspace) + saved_bytes());
  }

 private:
  std::size_t saved_bytes() const {
    const auto rows = static_cast<std::size_t>(shape_.samples * shape_.heads * shape_.queries);
    return shape_.backward ? (rows * sizeof(float) + 255) / 256 * 256 : 0;
  }

  FusedAttention shape_;
  std::shared_ptr<const CudnnPlans> plans_;
};

}  // namespace

CudnnGraph graph_of(const FusedAttention& shape) {
  return AttentionGraph(shape).take();
}

std::unique_ptr<Call> cudnn_attention(CudnnTarget& target, const FusedAttention& shape) {
  const auto refuse = [&](const std::string& why) {
    note_refusal(name_of(shape), why);
    return nullptr;
  };
  if (shape.width % 8 != 0 || shape.width > 128)
    return refuse("the width of a head is no multiple of 8 or over 128");
  auto call = std::make_unique<CudnnAttention>(target, shape);
  if (!call->plans().has(0)) return refuse(call->plans().why_none());
  return call;
}

}  // namespace thalweg::engine::gpu
