// What a layer is on the reference device: the truth in slow, obvious loops, for float and double.
#pragma once

#include <vector>

#include "engine/device/batch.h"
#include "engine/device/layer.h"

namespace thalweg::engine::reference {

/// One layer's share of a pass over a shard. All tensors are plain, sample outermost. Layers keep
/// no state: what backward needs (arg max, dropout mask, batch statistics) it computes again.
template <class T>
struct Call {
  bool training = false;
  const Batch* batch = nullptr;   ///< batch->samples are computed
  const T* x = nullptr;           ///< input, the first where there are several
  T* y = nullptr;                 ///< output; filled in by forward, readable in backward
  const T* dy = nullptr;          ///< backward only
  T* dx = nullptr;                ///< backward only; null where nobody needs it
  std::vector<const T*> xs;       ///< all inputs
  std::vector<T*> dxs;            ///< backward only: of all inputs, as dx
  std::vector<const T*> weights;  ///< per parameter of the layer
  std::vector<T*> gradients;      ///< backward only; overwritten
  const T* running = nullptr;     ///< evaluation only: the layer's statistics
  T* statistics = nullptr;        ///< training only: overwritten by forward

  int samples() const { return batch->samples; }
};

template <class T>
struct Functions {
  void (*forward)(const LayerPlan& plan, const Call<T>& call);
  void (*backward)(const LayerPlan& plan, const Call<T>& call);
};

/// Floating point operations of a layer for one sample, counted as published counts are: products
/// of matrices, windows and attention, a multiplication and an addition being two, padding counted
/// as if it were data; what is done once per element is left out.
struct LayerFlops {
  double forward = 0;
  double own_gradients = 0;    ///< backward, whatever is before the layer
  double input_gradients = 0;  ///< backward, where something before the layer learns

  /// Of so many multiplications of inputs with weights: each gradient takes as many again.
  static LayerFlops with_weights(double count) { return {2 * count, 2 * count, 2 * count}; }
  /// Of inputs with inputs, each of which has a gradient.
  static LayerFlops between_inputs(double count) { return {2 * count, 0, 4 * count}; }
};

struct Layer {
  /// From plan.in (or ins) and the row's options, complete and checked: sets out, parameters,
  /// statistics and plan.options. Throws std::invalid_argument with "expects ..." where they do not
  /// fit; the graph puts the layer's name before it.
  void (*plan)(LayerPlan& plan, const jobspec::Options& options);
  Functions<float> f32;
  Functions<double> f64;
  /// Of a planned layer; null: it has no products.
  LayerFlops (*flops)(const LayerPlan& plan) = nullptr;

  template <class T>
  const Functions<T>& functions() const {
    if constexpr (sizeof(T) == sizeof(float))
      return f32;
    else
      return f64;
  }
};

/// Throws std::invalid_argument where a label is no class.
template <class T>
using LossFunction = ShardResult (*)(const LossPlan& plan, const LossCall<T>& call);

struct Loss {
  LossFunction<float> f32;
  LossFunction<double> f64;
};

}  // namespace thalweg::engine::reference
