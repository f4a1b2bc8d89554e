// What the builder makes and executors run: tensors with their places and lists of operations.
// Immutable once built.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "engine/device/batch.h"
#include "engine/device/cpu/onednn.h"
#include "engine/device/graph/plan.h"
#include "engine/device/layer.h"
#include "engine/tensor/half.h"

namespace thalweg::engine::cpu {

/// Features of a sample as they lie in memory: the plain position of each, -1 for padding (which is
/// always 0). Null where they lie in the plain order.
using Order = std::shared_ptr<const std::vector<std::int32_t>>;

struct Tensor : TensorPlace {
  Desc desc;
  Order order;  ///< of flattened images
};

/// An executor's tensors while an operation runs.
struct Frame {
  std::byte* const* pointers;  ///< by TensorId
  const Batch* batch;

  float* floats(TensorId tensor) const { return reinterpret_cast<float*>(pointers[tensor]); }
  template <class T>
  T* as(TensorId tensor) const {
    return reinterpret_cast<T*>(pointers[tensor]);
  }
  std::uint8_t* bytes(TensorId tensor) const {
    return reinterpret_cast<std::uint8_t*>(pointers[tensor]);
  }
};

using Arguments = std::vector<std::pair<int, TensorId>>;  ///< DNNL_ARG_*, tensor
using Kernel = std::function<void(const Frame&)>;

/// A oneDNN primitive with its arguments, or a kernel of our own.
struct Operation {
  dnnl::primitive primitive;
  Arguments arguments;
  Kernel kernel;           ///< runs where there is no primitive
  std::vector<int> ready;  ///< parameters whose gradients are complete after it
  int layer = -1;          ///< whose it is, by number in the graph
};

/// A parameter in the layout that its layer's kernels want.
struct Parameter {
  Desc desc;    ///< device layout
  Desc plain;   ///< plain layout, same sizes as desc; features in memory order where `order` is set
  Order order;  ///< of the last dimension
};

struct Plan : GraphPlan<Tensor, Operation, Parameter> {
  TensorId output = -1, output_gradient = -1;  ///< plain: what the loss is taken over
  std::size_t weight_bytes = 0;
  int reorders = 0;     ///< layout changes in a training step
  int conversions = 0;  ///< changes of the elements' type in it; `weights` apart
};

}  // namespace thalweg::engine::cpu
