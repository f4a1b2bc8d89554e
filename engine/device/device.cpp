#include "engine/device/device.h"

#include <stdexcept>

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

void check_batch(const Batch& batch, int samples, bool training) {
  if (batch.samples == samples || (!training && batch.samples > 0 && batch.samples < samples))
    return;
  throw std::invalid_argument("a shard of " + std::to_string(batch.samples) + " samples where " +
                              (training ? "exactly " : "1 to ") + std::to_string(samples) +
                              " were expected");
}

void refuse_label(std::int32_t label, int sample, int classes) {
  throw std::invalid_argument("label " + std::to_string(label) + " of sample " +
                              std::to_string(sample) + " is not a class from 0 to " +
                              std::to_string(classes - 1));
}

}  // namespace thalweg::engine
