// mlp: linear, [batch norm], relu, [dropout] for each hidden size; then linear to the classes.
// Images are flattened.
#include <stdexcept>

#include "engine/nn/model_table.h"

namespace thalweg::engine {

std::vector<LayerSpec> mlp(const jobspec::Options& options, const InputShape& input) {
  const double dropout = options.real("dropout");
  const bool batch_norm = options.flag("batch_norm");
  std::vector<LayerSpec> layers;
  if (input.sample.size() > 1) layers.push_back({"flatten", "flatten", {}});
  int number = 1;
  for (const jobspec::Value& size : options.list("hidden")) {
    if (!size.is_int() || size.as_int() < 1)
      throw std::invalid_argument("model.hidden: mlp expects positive integers, got " +
                                  size.to_text());
    const std::string suffix = std::to_string(number++);
    layers.push_back({"linear", "fc" + suffix, {{"outputs", size}, {"bias", !batch_norm}}});
    if (batch_norm) layers.push_back({"batch_norm", "norm" + suffix, {}});
    layers.push_back({"relu", "relu" + suffix, {}});
    if (dropout > 0) layers.push_back({"dropout", "drop" + suffix, {{"probability", dropout}}});
  }
  layers.push_back({"linear", "fc" + std::to_string(number), {{"outputs", input.outputs()}}});
  return layers;
}

}  // namespace thalweg::engine
