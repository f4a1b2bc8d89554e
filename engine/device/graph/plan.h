// What plans of all devices have: tensors with their places and lists of operations.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/device/layer.h"
#include "engine/tensor/parameter.h"

namespace thalweg::engine {

/// Whose memory a tensor lies in. `weights`: parameters as kernels want them, in another layout or
/// type; `constants`: numbers beside parameters that never change; `result`: what the loss counts.
enum class Home {
  arena,
  input,
  labels,
  targets,
  labels_b,
  shares_b,
  parameters,
  weights,
  gradients,
  statistics,
  running,
  constants,
  result
};
inline constexpr std::size_t homes = static_cast<std::size_t>(Home::result) + 1;

struct TensorPlace {
  Home home = Home::arena;
  std::size_t offset = 0;  ///< bytes from the start of its home
  TensorId base = -1;      ///< the tensor whose memory this one is a view of; -1: its own
  std::size_t shift = 0;   ///< bytes from the start of `base`
  int first_use = -1, last_use = -1;  ///< clock of the builder; of base tensors only
  // Of what backward computes again (base tensors only): its life there, and where it lies then.
  int segment = -1;  ///< of the layers that make it; -1: it is kept
  int first_again = -1, last_again = -1;
  std::size_t again = 0;  ///< as `offset`, in backward; of all tensors
};

/// What a plan of any device has. A device's Tensor is a TensorPlace with a `desc`; its Operation
/// has `layer`, whose it is by number in the graph, and `ready`, the parameters whose gradients are
/// complete after it.
template <class Tensor, class Operation, class Parameter>
struct GraphPlan {
  int samples = 0;
  std::vector<Tensor> tensors;
  std::vector<Operation> weights;  ///< run before the others where the parameters have changed
  std::vector<Operation> forward, evaluation, backward;
  std::vector<Parameter> parameters;  ///< by number in the graph
  std::vector<ParameterInfo> infos;   ///< likewise: where they lie
  std::vector<int> ready_order;       ///< in which backward completes their gradients
  std::size_t recomputed = 0;         ///< operations of backward that forward has done before
  std::size_t arena_bytes = 0;        ///< workspaces included
};

}  // namespace thalweg::engine
