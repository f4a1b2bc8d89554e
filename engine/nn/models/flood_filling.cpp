// flood_filling: the network of flood-filling networks (Januszewski et al., Nature Methods 2018),
// over volumes of any channels (image and mask of the object so far): two convolutions, then
// residual modules of two, each 3x3x3 of the same size, relu before all but the first; 1x1x1 to a
// logit for each voxel.
#include <stdexcept>
#include <string>

#include "engine/nn/model_table.h"

namespace thalweg::engine {

std::vector<LayerSpec> flood_filling(const jobspec::Options& options, const InputShape& input) {
  if (input.sample.size() != 4)
    throw std::invalid_argument(
        "model flood_filling expects volumes (channels, depth, height, width), the data has " +
        to_text(input.sample));
  const std::int64_t channels_out = channels_for_pixels("flood_filling", input);
  const std::int64_t channels = options.integer("channels");
  std::vector<LayerSpec> layers;
  const auto conv = [&](const std::string& name) {
    layers.push_back({"conv3d", name, {{"channels", channels}, {"kernel", 3}, {"padding", 1}}});
  };
  conv("conv0_a");
  layers.push_back({"relu", "relu0", {}});
  conv("conv0_b");
  for (std::int64_t i = 1; i <= options.integer("modules"); ++i) {
    const std::string number = std::to_string(i), before = layers.back().name;
    layers.push_back({"relu", "relu" + number + "_a", {}});
    conv("conv" + number + "_a");
    layers.push_back({"relu", "relu" + number + "_b", {}});
    conv("conv" + number + "_b");
    layers.push_back({"add", "add" + number, {}, {layers.back().name, before}});
  }
  layers.push_back({"relu", "relu", {}});
  layers.push_back({"conv3d", "logits", {{"channels", channels_out}, {"kernel", 1}}});
  return layers;
}

}  // namespace thalweg::engine
