#include "tests/bench/step/flops.h"

#include <vector>

namespace thalweg::engine::bench {
namespace {

/// Multiplications with weights, of one sample: each weight of a matrix as often as it is used.
double products(const LayerPlan& layer) {
  const std::string& kind = layer.kind->name;
  double weights = 0;
  for (const ParameterPlan& parameter : layer.parameters)
    if (parameter.shape.size() > 1) weights += static_cast<double>(elements(parameter.shape));
  const auto positions = [](const Shape& image) {
    return static_cast<double>(elements(image)) / static_cast<double>(image[0]);
  };
  if (kind == "conv2d" || kind == "conv3d") return weights * positions(layer.out);
  if (kind == "conv_transpose2d" || kind == "conv_transpose3d")
    return weights * positions(layer.in);
  if (kind == "linear")
    return weights * static_cast<double>(elements(layer.in)) / static_cast<double>(layer.in.back());
  if (kind == "lstm") return weights * static_cast<double>(layer.in[0]);
  return 0;
}

/// Queries by keys and looks by values, all positions with all.
double attention(const LayerPlan& layer) {
  if (layer.kind->name != "attention") return 0;
  const auto positions = static_cast<double>(layer.in[0]);
  return 2 * positions * positions * static_cast<double>(layer.out.back());
}

bool is_product(const LayerPlan& layer) {
  return products(layer) > 0 || attention(layer) > 0;
}

}  // namespace

double bytes_of(const Graph& graph, int samples, double value_bytes, int states) {
  constexpr double floats = 4, of_value = 5;
  double values = 0, weights = 0;
  for (const LayerPlan& layer : graph.layers) {
    if (is_product(layer)) values += static_cast<double>(elements(layer.out));
    for (const ParameterPlan& parameter : layer.parameters)
      weights += static_cast<double>(elements(parameter.shape));
  }
  const double read = floats * static_cast<double>(elements(graph.loss.data.sample));
  return samples * (read + of_value * value_bytes * values) +
         weights * (2 * value_bytes + floats * (4 + 2 * states));
}

Flops flops_of(const Graph& graph) {
  Flops sum;
  std::vector<bool> has_gradient(graph.layers.size() + 1);
  for (const LayerPlan& layer : graph.layers) {
    bool before = false;
    for (const int from : layer.from)
      before = before || has_gradient[static_cast<std::size_t>(from)];
    const double with_weights = 2 * products(layer), between = 2 * attention(layer);
    sum.forward += with_weights + between;
    sum.weight_gradients += with_weights;
    if (before) sum.data_gradients += with_weights + 2 * between;
    // An lstm hands gradients from position to position, whatever stands before it.
    if (!before && layer.kind->name == "lstm")
      for (const ParameterPlan& parameter : layer.parameters)
        if (parameter.shape.size() > 1 && 4 * parameter.shape[1] == parameter.shape[0])
          sum.data_gradients += 2 * static_cast<double>(elements(parameter.shape) * layer.in[0]);
    has_gradient[static_cast<std::size_t>(layer.number) + 1] = before || !layer.parameters.empty();
  }
  return sum;
}

}  // namespace thalweg::engine::bench
