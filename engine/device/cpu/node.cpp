#include "engine/device/cpu/node.h"

namespace thalweg::engine::cpu {
namespace {

bool takes_relu(const LayerPlan& layer) {
  return layer.kind->name == "linear" || layer.kind->name == "conv2d" ||
         layer.kind->name == "batch_norm";
}

}  // namespace

std::vector<Node> fuse(const Graph& graph) {
  std::vector<Node> nodes;
  int parameters = 0;
  std::size_t statistics = 0;
  bool relu_was_joined = false;
  for (const LayerPlan& layer : graph.layers) {
    if (layer.kind->name == "relu" && !nodes.empty() && !nodes.back().relu &&
        takes_relu(*nodes.back().layer)) {
      nodes.back().relu = true;
      relu_was_joined = true;
      continue;
    }
    Node node;
    node.layer = &layer;
    node.first_parameter = parameters;
    node.statistics = statistics;
    // Batch norm keeps its own mask of the relu.
    if (relu_was_joined && layer.kind->name == "max_pool2d" &&
        nodes.back().layer->kind->name != "batch_norm") {
      node.masks_relu_before = true;
      nodes.back().relu_masked_by_next = true;
    }
    relu_was_joined = false;
    parameters += static_cast<int>(layer.parameters.size());
    for (const StatisticPlan& s : layer.statistics)
      statistics += static_cast<std::size_t>(s.count);
    nodes.push_back(node);
  }
  return nodes;
}

}  // namespace thalweg::engine::cpu
