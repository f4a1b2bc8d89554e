// cosmoflow: a 3-D network that reads cosmological parameters off matter distributions.
// Form mlperf (MLPerf HPC): five times conv 3^3 (32, 64, ... channels, same size), leaky relu, max
// pool 2; linear 128, 64, each with leaky relu and dropout; linear, 1.2 tanh. Form sc18 (Mathuriya
// et al., SC18): seven convolutions without padding, the first three with average pools 2, the
// fourth with stride 2, so that 128^3 end as 2^3; linear 2048, 256 and out: 7,041,443 parameters
// for three targets, as published.
#include <stdexcept>
#include <string>

#include "engine/nn/model_table.h"

namespace thalweg::engine {
namespace {

constexpr double kMlperfSlope = 0.3;  // of Keras's LeakyReLU
constexpr double kMlperfRange = 1.2;  // of the targets, which lie from -1 to 1

void add_fully_connected(std::vector<LayerSpec>& layers, const std::vector<int>& sizes,
                         double slope, double dropout) {
  layers.push_back({"flatten", "flatten", {}});
  int number = 1;
  for (const int size : sizes) {
    const std::string suffix = std::to_string(number++);
    layers.push_back({"linear", "fc" + suffix, {{"outputs", size}}});
    layers.push_back({"leaky_relu", "fc_relu" + suffix, {{"slope", slope}}});
    if (dropout > 0) layers.push_back({"dropout", "drop" + suffix, {{"probability", dropout}}});
  }
}

std::vector<LayerSpec> mlperf(int channels, double dropout) {
  std::vector<LayerSpec> layers;
  for (int i = 0; i < 5; ++i) {
    const std::string suffix = std::to_string(i + 1);
    layers.push_back(
        {"conv3d", "conv" + suffix, {{"channels", channels << i}, {"kernel", 3}, {"padding", 1}}});
    layers.push_back({"leaky_relu", "relu" + suffix, {{"slope", kMlperfSlope}}});
    layers.push_back({"max_pool3d", "pool" + suffix, {{"kernel", 2}}});
  }
  add_fully_connected(layers, {128, 64}, kMlperfSlope, dropout);
  return layers;
}

std::vector<LayerSpec> sc18(double dropout) {
  struct Stage {
    int kernel, channels, stride;
    bool pool;
  };
  constexpr Stage kStages[] = {{3, 16, 1, true},   {4, 32, 1, true},   {4, 64, 1, true},
                               {3, 128, 2, false}, {3, 256, 1, false}, {2, 256, 1, false},
                               {2, 256, 1, false}};
  constexpr double kSlope = 0.01;
  std::vector<LayerSpec> layers;
  int number = 1;
  for (const Stage& stage : kStages) {
    const std::string suffix = std::to_string(number++);
    layers.push_back(
        {"conv3d",
         "conv" + suffix,
         {{"channels", stage.channels}, {"kernel", stage.kernel}, {"stride", stage.stride}}});
    layers.push_back({"leaky_relu", "relu" + suffix, {{"slope", kSlope}}});
    if (stage.pool) layers.push_back({"avg_pool3d", "pool" + suffix, {{"kernel", 2}}});
  }
  add_fully_connected(layers, {2048, 256}, kSlope, dropout);
  return layers;
}

}  // namespace

std::vector<LayerSpec> cosmoflow(const jobspec::Options& options, const InputShape& input) {
  if (input.sample.size() != 4)
    throw std::invalid_argument(
        "model cosmoflow expects volumes (channels, depth, height, width), the data has " +
        to_text(input.sample));
  const double dropout = options.real("dropout");
  const bool as_mlperf = options.text("form") == "mlperf";
  std::vector<LayerSpec> layers =
      as_mlperf ? mlperf(static_cast<int>(options.integer("channels")), dropout) : sc18(dropout);
  layers.push_back({"linear", "out", {{"outputs", input.outputs()}}});
  if (as_mlperf && input.targets > 0)
    layers.push_back({"tanh", "range", {{"scale", kMlperfRange}}});
  return layers;
}

}  // namespace thalweg::engine
