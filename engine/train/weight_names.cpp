#include "engine/train/weight_names.h"

#include "engine/device/layer.h"
#include "engine/nn/graph.h"

namespace thalweg::engine {
namespace {

/// PyTorch's names of what is measured.
std::string statistic_name(const std::string& name) {
  if (name == "mean") return "running_mean";
  if (name == "variance") return "running_var";
  return name;
}

}  // namespace

std::vector<WeightName> weight_names(const Graph& graph) {
  std::vector<WeightName> all;
  std::size_t weight = 0, statistic = 0;
  for (const LayerPlan& layer : graph.layers) {
    for (const ParameterPlan& p : layer.parameters) {
      all.push_back({layer.name + "." + p.name, p.shape, false, weight});
      weight += static_cast<std::size_t>(elements(p.shape));
    }
    for (const StatisticPlan& s : layer.statistics) {
      all.push_back({layer.name + "." + statistic_name(s.name), {s.count}, true, statistic});
      statistic += static_cast<std::size_t>(s.count);
    }
  }
  return all;
}

}  // namespace thalweg::engine
