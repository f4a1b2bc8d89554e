// simple_cnn: two convolutions 5x5 (32 and 64 channels, same size), each with relu and max pool 2;
// linear 1024, relu, linear: the "Simple CNN" of Shallue et al., arXiv:1811.03600.
#include <stdexcept>

#include "engine/nn/model_table.h"

namespace thalweg::engine {

std::vector<LayerSpec> simple_cnn(const jobspec::Options&, const InputShape& input) {
  if (input.sample.size() != 3)
    throw std::invalid_argument(
        "model simple_cnn expects images (channels, height, width), the data has " +
        to_text(input.sample));
  std::vector<LayerSpec> layers;
  const auto conv_block = [&](const std::string& suffix, int channels) {
    layers.push_back(
        {"conv2d", "conv" + suffix, {{"channels", channels}, {"kernel", 5}, {"padding", 2}}});
    layers.push_back({"relu", "relu" + suffix, {}});
    layers.push_back({"max_pool2d", "pool" + suffix, {{"kernel", 2}}});
  };
  conv_block("1", 32);
  conv_block("2", 64);
  layers.push_back({"flatten", "flatten", {}});
  layers.push_back({"linear", "fc1", {{"outputs", 1024}}});
  layers.push_back({"relu", "relu3", {}});
  layers.push_back({"linear", "fc2", {{"outputs", input.outputs()}}});
  return layers;
}

}  // namespace thalweg::engine
