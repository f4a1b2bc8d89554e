// The words that graphs and devices share: what a layer is, its shapes, parameters and options.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tensor/shape.h"
#include "jobspec/schema.h"
#include "jobspec/value.h"

namespace thalweg::engine {

namespace reference {
struct Layer;
struct Loss;
}  // namespace reference
namespace cpu {
class Builder;
/// Index of a tensor in the builder's plan.
using TensorId = int;
struct Node;
/// Adds the layer's forward operations to the plan and registers its backward ones; takes x,
/// returns y.
using LayerMaker = TensorId (*)(Builder& builder, const Node& node, TensorId x);
}  // namespace cpu

struct ShardResult {
  double loss_sum = 0;     ///< sum over samples of the loss (not the mean)
  std::int64_t wrong = 0;  ///< samples whose arg max is not the label (or whose logits are NaN)
};

namespace cpu {
/// As reference::LossFunction<float>.
using LossFunction = ShardResult (*)(const float* logits, const std::int32_t* labels, int samples,
                                     int classes, float scale, float* gradient);
}  // namespace cpu

/// How a parameter starts.
enum class Init {
  zeros,
  ones,
  /// Normal with variance gain^2 / fan_in; gain^2 = 2 where a relu follows (He et al., ICCV 2015),
  /// else 1 (LeCun).
  scaled_normal
};

struct ParameterPlan {
  std::string name;  ///< "weight"; the graph puts the layer's name before it
  Shape shape;       ///< plain (out, in, kh, kw)
  Init init = Init::zeros;
  std::int64_t fan_in = 0;  ///< for scaled_normal
  double gain_squared = 1;  ///< the graph sets it from the layers that follow
  bool norm_or_bias = false;
};

/// Numbers measured per shard in training, whose running mean the evaluation uses.
struct StatisticPlan {
  std::string name;
  std::int64_t count = 0;
  float initial = 0;
  float momentum = 0.1f;  ///< running = (1 - momentum) * running + momentum * measured
};

struct LayerKind;

/// One layer in its place in a graph.
struct LayerPlan {
  const LayerKind* kind = nullptr;
  std::string name;        ///< "conv1"
  int number = 0;          ///< position in the graph, from 0
  jobspec::Value options;  ///< complete: defaults filled in, ranges checked
  /// The values it takes: 0 is the graph's input, l + 1 what layer l puts out.
  std::vector<int> from;
  std::vector<Shape> ins;  ///< of one sample, as `from`
  Shape in, out;           ///< of one sample; `in` is the first of `ins`
  std::vector<ParameterPlan> parameters;
  std::vector<StatisticPlan> statistics;

  std::int64_t integer(std::string_view option) const;
  double real(std::string_view option) const;
  bool flag(std::string_view option) const;
};

/// A row of the layer table (engine/nn/layer_table.cpp).
struct LayerKind {
  std::string name;
  std::string doc;
  std::vector<jobspec::Option> options;
  const reference::Layer* reference;
  cpu::LayerMaker cpu;
  int inputs = 1;  ///< values it takes; 0: two or more
};

struct LossKind {
  std::string name;
  std::string doc;
  const reference::Loss* reference;
  cpu::LossFunction cpu;
};

/// Layers in an order in which each takes only what stands before it. The last one puts out
/// (classes) logits, over which the loss is taken; every other value is taken by some layer.
struct Graph {
  Shape input;
  int classes = 0;
  std::vector<LayerPlan> layers;
  const LossKind* loss = nullptr;

  /// How many times layers take each value (see LayerPlan::from).
  std::vector<int> uses() const;
};

}  // namespace thalweg::engine
