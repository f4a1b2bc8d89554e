// What a training step does on a GPU, counted without one: the plan is built for a machine that
// does nothing, whose libraries take down what they are asked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/device/compile_options.h"
#include "engine/device/cuda/plan.h"

namespace thalweg::engine::test {

/// What a library's call has to do, whatever way it takes.
struct CallWork {
  enum class Kind { product, convolution, attention, lstm } kind = Kind::product;
  double flops = 0;        ///< a multiplication and an addition are two; a causal mask halves them
  double beside = 0;       ///< bytes moved beside its tensors
  double touched = 0;      ///< bytes of its tensors, where it touches parts of them; 0: all
  std::int64_t steps = 0;  ///< of an lstm: what can only follow one another
};

struct CountedOperation {
  enum class Pass { forward, loss, backward } pass = Pass::forward;
  const cuda::Operation* operation = nullptr;
  const CallWork* call = nullptr;  ///< null: a loop of our own
  int launches = 0;                ///< kernels, copies and the like that it puts into a stream
  /// Of the tensors that it names, each once: what it moves at least, where all of each is touched.
  double bytes = 0;
};

/// Movable; what points here points into it.
struct CountedPlan {
  Graph graph;
  cuda::Plan plan;
  std::vector<CallWork> calls;               ///< as plan.calls
  std::vector<CountedOperation> operations;  ///< of a training step, in its order
};

/// `real`: a GPU's, whose calls the plan then holds; null: calls that can only be counted, where
/// the library is taken to have one of each kind that is asked for. Such a plan cannot be run.
CountedPlan count_plan(Graph graph, int samples, const CompileOptions& options,
                       const gpu::Library* real = nullptr);

/// "conv2d stage2.0.conv1 backward": whose operation it is.
std::string place_of(const CountedPlan& counted, const CountedOperation& operation);

}  // namespace thalweg::engine::test
