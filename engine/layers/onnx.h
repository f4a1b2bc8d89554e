// Models as ONNX files (github.com/onnx/onnx, docs/IR.md; operators of opset 17). A layer says in
// the onnx.cpp of its folder of which operators it is made.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/device/layer.h"

namespace thalweg::engine::onnx {

inline constexpr std::int64_t opset = 17;

using Integers = std::vector<std::int64_t>;
struct Attribute {
  std::string name;
  std::variant<std::int64_t, float, std::string, Integers> value;
};

/// Collects a graph's nodes. Values have names; a sample's sizes come after the batch.
class Builder {
 public:
  /// Adds a node; returns the name of its first output. An input that is "" is left out.
  /// `output`: which of its outputs is wanted.
  std::string node(const std::string& op, const std::vector<std::string>& inputs,
                   std::vector<Attribute> attributes = {}, int output = 0);
  /// Constants.
  std::string number(float value);
  std::string floats(const Shape& shape, const std::vector<float>& values);
  std::string integers(const Integers& values);

  // Of many layers.
  /// `shape`: 0 keeps a size, -1 is what is left.
  std::string reshape(const std::string& x, const Integers& shape);
  std::string transpose(const std::string& x, const Integers& order);
  /// Which of the first axis.
  std::string pick(const std::string& x, std::int64_t index);
  /// x / sqrt(depth) times k transposed, masked, as weights of v: (batch, heads, positions, depth)
  /// each. Returns (batch, positions, width).
  std::string attend(const std::string& q, const std::string& k, const std::string& v,
                     std::int64_t positions, std::int64_t width, std::int64_t depth, bool causal);

 private:
  friend class File;
  std::string fresh(const std::string& what);

  std::string layer_;  ///< whose nodes are added
  int count_ = 0;
  std::string nodes_, constants_;  ///< as they stand in a file
};

/// The layer's output from its inputs and from its weights (parameters, then statistics), all by
/// name.
using LayerFunction = std::string(Builder& builder, const LayerPlan& layer,
                                  const std::vector<std::string>& inputs,
                                  const std::vector<std::string>& weights);

/// Of the layer's kind (table.cpp).
LayerFunction& form_of(const LayerKind& kind);

struct Weight {
  std::string name;  ///< "conv1.weight"
  Shape shape;
  const float* values = nullptr;
};

/// The bytes of a .onnx file: input "input" (batch, sample; whole numbers where it is tokens) to
/// "output", what the loss is taken over, as validation computes it. `weights`: of each layer its
/// parameters and statistics. Throws std::invalid_argument where it would be too large for the
/// format.
std::string write_model(const Graph& graph, const std::vector<Weight>& weights,
                        const std::string& version);

}  // namespace thalweg::engine::onnx
