// The words that graphs and devices share: what a layer is, its shapes, parameters and options.
#pragma once

#include <any>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/device/input_shape.h"
#include "engine/device/shard_result.h"
#include "engine/tensor/shape.h"
#include "jobspec/fwd.h"

namespace thalweg::jobspec {
class Options;
}

namespace thalweg::engine {

namespace reference {
struct Layer;
struct Loss;
}  // namespace reference
struct Node;
/// Index of a tensor in a builder's plan.
using TensorId = int;
namespace cpu {
class Builder;
/// Adds the layer's forward operations to the plan and registers its backward ones; takes x,
/// returns y.
using LayerFunction = TensorId(Builder& builder, const Node& node, TensorId x);
}  // namespace cpu
namespace cuda {
class Builder;
/// As cpu::LayerFunction.
using LayerFunction = TensorId(Builder& builder, const Node& node, TensorId x);
/// Adds the loss of `output` (floats) to the plan; returns its gradient.
using LossFunction = TensorId(Builder& builder, TensorId output);
}  // namespace cuda

struct Batch;

struct LossKind;

/// A loss in its place in a graph.
struct LossPlan {
  const LossKind* kind = nullptr;
  std::any options;  ///< as LayerPlan's
  InputShape data;
  Shape output;  ///< of one sample: what the last layer puts out
  // Of labels: the logit of class c at position p of a sample stands at p * position_step + c *
  // class_step: (classes), (positions, classes) or, of images, (classes, h, w).
  std::int64_t positions = 1;
  std::int64_t position_step = 0;
  std::int64_t class_step = 1;
  /// Logits of (classes, h, w).
  bool of_images() const { return class_step != 1; }
  std::vector<double> weights;  ///< of the classes; empty: all 1

  template <class T>
  const T& options_as() const {
    return std::any_cast<const T&>(options);
  }
  double weight(std::int64_t c) const {
    return weights.empty() ? 1 : weights[static_cast<std::size_t>(c)];
  }
};

/// One pass of a loss over a shard; tensors are plain, sample outermost.
template <class T>
struct LossCall {
  const T* outputs = nullptr;
  const Batch* batch = nullptr;
  T scale = 1;
  T* gradient = nullptr;  ///< overwritten with scale * d(sum of losses)/d(outputs); null: none
};

namespace cpu {
/// As reference::LossFunction<float>.
using LossFunction = ShardResult(const LossPlan& plan, const LossCall<float>& call);
}  // namespace cpu

/// How a parameter starts.
enum class Init {
  zeros,
  ones,
  /// Normal with variance gain^2 / fan_in; gain^2 = 2 where a relu follows (He et al., ICCV 2015),
  /// else 1 (LeCun).
  scaled_normal,
  /// Normal with deviation 0.02, as in GPT-2 and BERT.
  small_normal
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
  std::string name;  ///< "conv1"
  int number = 0;    ///< position in the graph, from 0
  /// What its functions need of the options beside the shapes and parameters below: a struct of the
  /// layer's own, set by reference::Layer::plan.
  std::any options;
  /// The values it takes: 0 is the graph's input, l + 1 what layer l puts out.
  std::vector<int> from;
  std::vector<Shape> ins;  ///< of one sample, as `from`
  Shape in, out;           ///< of one sample; `in` is the first of `ins`
  std::vector<ParameterPlan> parameters;
  std::vector<StatisticPlan> statistics;
  bool joins_shards = false;  ///< it waits for all shards of the batch in training

  /// Throws std::bad_any_cast where the layer's options are no T.
  template <class T>
  const T& options_as() const {
    return std::any_cast<const T&>(options);
  }
};

/// A row of the layer table (engine/layers/table.h).
struct LayerKind {
  std::string name = {};  ///< set by the table, as the two functions
  std::string doc = {};
  std::vector<jobspec::Option> options;
  const reference::Layer* reference = nullptr;
  cpu::LayerFunction* cpu = nullptr;
  cuda::LayerFunction* cuda = nullptr;
  int inputs = 1;       ///< values it takes; 0: two or more
  bool tokens = false;  ///< its input is token numbers, which are no other layer's input

  // What devices make of it beside its neighbours in a graph.
  bool is_relu = false;
  bool is_sum = false;       ///< of all its inputs
  bool is_max_pool = false;  ///< of windows
  bool flattens = false;     ///< only the shape changes
  bool multiplies = false;   ///< by its weight, in one product or convolution
  bool convolves = false;    ///< multiplies windows of images or volumes
  bool fuses_relu = false;   ///< a relu after it is computed with it
  /// Its backward masks the gradient by the relu after it, which no one else need do.
  bool masks_relu = false;
  bool fuses_sum = false;  ///< on cuda another branch is added with it
  /// Its weights' inputs may stand in the order in which flattened images lie.
  bool reorders_inputs = false;
  /// It does not change which of two numbers is larger; on cuda a max pool after it goes first.
  bool swaps_with_max_pool = false;
  bool stacks = false;         ///< on cuda stacked ones are one call
  bool floats_on_cpu = false;  ///< its loops there are over floats
};

/// Added to Metric::top: exp of the quotient, and 1 - the quotient. Of the second kind larger ones
/// are better.
inline constexpr std::size_t exp_of = max_sums, one_minus = 2 * max_sums;

/// A number that validation reports: sums[top] / sums[bottom] over all samples.
struct Metric {
  const char* name;  ///< "error": journaled as val/error
  std::size_t top;
  std::size_t bottom = 0;
  bool (*applies)(const LossPlan& plan) = nullptr;  ///< null: always

  double value(const double* sums) const {
    const double quotient = sums[top % max_sums] / sums[bottom];
    if (top >= one_minus) return 1 - quotient;
    return top >= exp_of ? std::exp(quotient) : quotient;
  }
};

/// A row of the loss table (engine/losses/table.h). The loss of a sample is the mean over its
/// labels that count, or over its targets; training minimises the mean over samples.
struct LossKind {
  std::string name = {};  ///< set by the table, as `cuda`
  std::string doc = {};
  std::vector<jobspec::Option> options;
  bool of_labels = true;  ///< else of targets
  /// Sets plan.options and weights; null where there are no options. Throws std::invalid_argument.
  void (*plan)(LossPlan& plan, const jobspec::Options& options) = nullptr;
  const reference::Loss* reference = nullptr;
  cpu::LossFunction* cpu = nullptr;  ///< the table sets the reference's where this is null
  cuda::LossFunction* cuda = nullptr;
  std::vector<Metric> metrics = {};
  bool blends_labels = false;  ///< takes samples with two labels
  bool any_logits = false;     ///< on cuda: of the type of values between layers too
};

/// Layers in an order in which each takes only what stands before it. The last one puts out what
/// the loss is taken over; every other value is taken by some layer.
struct Graph {
  Shape input;
  std::vector<LayerPlan> layers;
  LossPlan loss;

  /// How many times layers take each value (see LayerPlan::from).
  std::vector<int> uses() const;
};

}  // namespace thalweg::engine
