// Where parameters stand in flat memory, the same on every device.
#include "engine/device/device.h"

#include "engine/device/layer.h"
#include "engine/tensor/buffer.h"

namespace thalweg::engine {

std::vector<ParameterInfo> place_parameters(const Graph& graph,
                                            const std::vector<std::size_t>& device_counts) {
  std::vector<ParameterInfo> infos;
  std::size_t offset = 0;
  for (const LayerPlan& layer : graph.layers) {
    for (const ParameterPlan& parameter : layer.parameters) {
      ParameterInfo info;
      info.name = layer.name + "." + parameter.name;
      info.shape = parameter.shape;
      info.offset = offset;
      const std::size_t own = infos.size() < device_counts.size() ? device_counts[infos.size()] : 0;
      info.count = round_up(own > 0 ? own : static_cast<std::size_t>(elements(parameter.shape)),
                            alignment_floats);
      info.norm_or_bias = parameter.norm_or_bias;
      info.decay = !parameter.norm_or_bias;
      offset += info.count;
      infos.push_back(std::move(info));
    }
  }
  return infos;
}

}  // namespace thalweg::engine
