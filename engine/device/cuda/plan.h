// What the builder makes and executors run: tensors with their places and lists of operations.
// Immutable once built.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/device/executor.h"
#include "engine/device/graph/plan.h"
#include "engine/device/layer.h"
#include "engine/gpu/gpu.h"
#include "engine/gpu/library.h"
#include "engine/gpu/types.h"

namespace thalweg::engine::cuda {

using gpu::Bf16;
using gpu::Type;

/// (samples, features), (samples, positions, features), (samples, c, h, w), (samples, c, d, h, w).
/// Images and volumes lie with their channels innermost, all else as written.
struct Desc {
  Shape dims;
  Type type = Type::f32;

  bool images() const { return dims.size() >= 4; }
  std::int64_t count() const { return elements(dims); }
  std::size_t bytes() const { return static_cast<std::size_t>(count()) * gpu::size_of(type); }
  bool operator==(const Desc&) const = default;
};

struct Tensor : TensorPlace {
  Desc desc;
};

/// An executor's tensors while operations are put into a stream.
struct Frame {
  std::byte* const* pointers;  ///< by TensorId; backward may have others than forward
  const ShardKey* key;         ///< device memory
  gpu::Stream& stream;
  bool blended = false;      ///< there are labels_b
  bool draw_labels = false;  ///< Batch::draw_labels

  float* floats(TensorId tensor) const { return as<float>(tensor); }
  /// Null for tensor -1.
  template <class T>
  T* as(TensorId tensor) const {
    return tensor < 0 ? nullptr : reinterpret_cast<T*>(pointers[tensor]);
  }
};

/// Puts work into frame.stream; waits for nothing.
using Kernel = std::function<void(const Frame&)>;

struct Operation {
  Kernel kernel;
  std::vector<int> ready;              ///< parameters whose gradients are complete after it
  int layer = -1;                      ///< whose it is, by number in the graph
  std::vector<TensorId> tensors = {};  ///< what it touches
  int call = -1;                       ///< number in Plan::calls; -1: a loop of our own
};

/// A call of a library, which may be done several times.
struct LibraryCall {
  std::shared_ptr<gpu::Call> call;
  std::vector<TensorId> tensors;  ///< when it is first done
  bool in_backward = false;       ///< it is done there only
};

/// How a parameter lies: element i of the device's memory is element order[i] of the plain one;
/// null: as the plain one.
struct Parameter {
  std::int64_t count = 0;
  std::shared_ptr<const std::vector<std::int32_t>> order;
};

struct Plan : GraphPlan<Tensor, Operation, Parameter> {
  std::vector<Operation> loss;             ///< after forward: result and the output's gradient
  std::vector<Operation> evaluation_loss;  ///< after evaluation: result alone
  std::vector<float> constants;            ///< numbers that kernels read beside parameters
  std::vector<LibraryCall> calls;          ///< in the order of their making
  bool bf16_weights = false;               ///< some operation reads Home::weights
  std::size_t workspace_bytes = 0;
};

}  // namespace thalweg::engine::cuda
