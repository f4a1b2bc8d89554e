// The arrays of a model under PyTorch's names, as they stand in checkpoints and exported files.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/tensor/shape.h"

namespace thalweg::engine {

struct Graph;

struct NamedTensor {
  std::string name;  ///< "conv1.weight"
  Shape shape;       ///< row-major
  std::vector<float> values;
};

/// A parameter, or a running statistic of batch normalisation.
struct WeightName {
  std::string name;  ///< LAYER.weight, LAYER.bias, LAYER.running_mean, LAYER.running_var
  Shape shape;
  bool statistic = false;
  std::size_t offset = 0;  ///< in Checkpoint::parameters, or in ::running
};
/// Layer by layer, parameters before statistics.
std::vector<WeightName> weight_names(const Graph& graph);

}  // namespace thalweg::engine
