// From a list of layers to a checked graph with known shapes.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "engine/device/layer.h"
#include "engine/layers/table.h"
#include "engine/losses/table.h"
#include "jobspec/fwd.h"
#include "jobspec/value.h"

namespace thalweg::engine {

/// The layer table for people: kinds, what they do, options with ranges and defaults.
std::string describe_layers();

/// A layer as a model asks for it.
struct LayerSpec {
  std::string kind;      ///< a row of the layer table
  std::string name;      ///< unique in the graph: "conv1"
  jobspec::Map options;  ///< what differs from the row's defaults
  /// Names of the layers whose outputs it takes, "input" for the graph's; none: the layer before.
  std::vector<std::string> inputs = {};
};

/// The name of the graph's own input among LayerSpec::inputs.
inline constexpr const char* input_name = "input";

/// The `train.loss` tree, complete or not, over what a model puts out. Throws
/// std::invalid_argument.
LossPlan plan_loss(const jobspec::Value& loss, const InputShape& data, const Shape& output);
jobspec::Section loss_schema();

/// An option that is unknown, missing or wrong.
class OptionError : public std::invalid_argument {
 public:
  OptionError(std::string option, const std::string& message)
      : std::invalid_argument(message), option_(std::move(option)) {}
  const std::string& option() const { return option_; }

 private:
  std::string option_;
};

/// What is wrong with one layer, and with which key of it where it is one.
class LayerError : public OptionError {
 public:
  /// `number` counts from 1; `option` may be empty.
  LayerError(std::size_t number, std::string option, const std::string& message)
      : OptionError(std::move(option), message), number_(number) {}
  std::size_t number() const { return number_; }

 private:
  std::size_t number_;
};

/// Works out shapes, fills in defaults and checks everything. Weights that feed a relu get the gain
/// for it. Throws std::invalid_argument, where it is about one layer a LayerError with a sentence
/// like "layer 3 (linear 'fc1') expects flat features, got (64, 7, 7): ...".
Graph build_graph(const std::vector<LayerSpec>& layers, const InputShape& data,
                  const jobspec::Value& loss = jobspec::null_value());

/// `given` with the defaults of `options` filled in. Throws OptionError on an unknown, missing or
/// ill-typed option; `owner` starts the sentence.
jobspec::Map complete_options(const std::vector<jobspec::Option>& options,
                              const jobspec::Map& given, const std::string& owner);

}  // namespace thalweg::engine
