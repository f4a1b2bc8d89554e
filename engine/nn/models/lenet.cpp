// lenet: two convolutions 3x3 (32 and 64 channels, same size), each with [batch norm], relu and max
// pool 2; linear 128, [batch norm], relu, [dropout], linear to the classes. After LeCun et al.,
// Proc. IEEE 1998, in today's sizes.
#include <stdexcept>

#include "engine/nn/model_table.h"

namespace thalweg::engine {

std::vector<LayerSpec> lenet(const jobspec::Options& options, const InputShape& input) {
  if (input.sample.size() != 3)
    throw std::invalid_argument(
        "model lenet expects images (channels, height, width), the data has " +
        to_text(input.sample));
  const double dropout = options.real("dropout");
  const bool batch_norm = options.flag("batch_norm");
  std::vector<LayerSpec> layers;
  const auto conv_block = [&](const std::string& suffix, int channels) {
    layers.push_back(
        {"conv2d",
         "conv" + suffix,
         {{"channels", channels}, {"kernel", 3}, {"padding", 1}, {"bias", !batch_norm}}});
    if (batch_norm) layers.push_back({"batch_norm", "norm" + suffix, {}});
    layers.push_back({"relu", "relu" + suffix, {}});
    layers.push_back({"max_pool2d", "pool" + suffix, {{"kernel", 2}}});
  };
  conv_block("1", 32);
  conv_block("2", 64);
  layers.push_back({"flatten", "flatten", {}});
  layers.push_back({"linear", "fc1", {{"outputs", 128}, {"bias", !batch_norm}}});
  if (batch_norm) layers.push_back({"batch_norm", "norm3", {}});
  layers.push_back({"relu", "relu3", {}});
  if (dropout > 0) layers.push_back({"dropout", "drop", {{"probability", dropout}}});
  layers.push_back({"linear", "fc2", {{"outputs", input.outputs()}}});
  return layers;
}

}  // namespace thalweg::engine
