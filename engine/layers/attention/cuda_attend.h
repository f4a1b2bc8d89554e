// Softmax attention of queries over keys and values wherever they lie: what attention and
// cross_attention share. In bfloat16 the library's fused call does it where it has one; else
// batched products and a softmax, what is looked at saved for backward.
#pragma once

#include <memory>

#include "engine/device/cuda/builder.h"

namespace thalweg::engine::cuda {

/// Rows of all heads in a tensor of the builder's type: those of head h at position i of sample n
/// are `depth` neighbours from element `first` + (n positions + i) `row` + h depth on.
struct Heads {
  TensorId tensor;
  std::int64_t first, row;
};

struct Attention {
  std::int64_t samples, heads, queries, keys, depth;
  bool causal;  ///< query i looks at keys 0 to i
  Heads q, k, v;

  std::int64_t width() const { return heads * depth; }
};

struct Attended {
  TensorId y;  ///< (samples, queries, width)
  /// For backward: what each query looks at, or where a fused call is done, that one and the
  /// statistics of its forward call.
  TensorId saved;
  std::shared_ptr<gpu::Call> backward;
};

Attended attend(Builder& b, const Attention& a);

/// In backward: fills in the gradients at `dq`, `dk`, `dv`, which have the rows of their values.
void attend_backward(Builder& b, const Attention& a, const Attended& of, TensorId dy, TensorId dq,
                     TensorId dk, TensorId dv);

}  // namespace thalweg::engine::cuda
