#include "engine/device/cpu/node.h"

#include <algorithm>
#include <iterator>

namespace thalweg::engine::cpu {
namespace {

bool takes_relu(const LayerPlan& layer) {
  return layer.kind->name == "linear" || layer.kind->name == "conv2d" ||
         layer.kind->name == "conv3d" || layer.kind->name == "batch_norm" ||
         layer.kind->name == "add";
}

/// Layers whose own loops are over floats.
bool takes_floats(const LayerPlan& layer) {
  static const char* const kinds[] = {
      "cross_attention",  //
      "group_norm",       //
      "pad",              //
      "repeat",           //
      "slice",            //
  };
  return std::find(std::begin(kinds), std::end(kinds), layer.kind->name) != std::end(kinds);
}

}  // namespace

std::vector<Node> fuse(const Graph& graph) {
  const std::vector<int> uses = graph.uses();
  std::vector<Node> nodes;
  std::vector<int> maker(graph.layers.size() + 1, -1);  // the node that puts out each value
  int parameters = 0;
  std::size_t statistics = 0;
  for (const LayerPlan& layer : graph.layers) {
    const int value = layer.number + 1;
    const auto x = static_cast<std::size_t>(layer.from.front());
    const bool only_taker = x > 0 && uses[x] == 1;
    Node* before = only_taker ? &nodes[static_cast<std::size_t>(maker[x])] : nullptr;
    if (layer.kind->name == "relu" && before && !before->relu && takes_relu(*before->layer)) {
      before->relu = true;
      before->value = value;
      maker[static_cast<std::size_t>(value)] = maker[x];
      continue;
    }
    Node node;
    node.layer = &layer;
    node.value = value;
    node.any_type = !takes_floats(layer);
    node.first_parameter = parameters;
    node.statistics = statistics;
    // Batch norm keeps its own mask of the relu.
    if (layer.kind->name.starts_with("max_pool") && before && before->relu &&
        before->layer->kind->name != "batch_norm") {
      node.masks_relu_before = true;
      before->relu_masked_by_next = true;
    }
    parameters += static_cast<int>(layer.parameters.size());
    for (const StatisticPlan& s : layer.statistics)
      statistics += static_cast<std::size_t>(s.count);
    maker[static_cast<std::size_t>(value)] = static_cast<int>(nodes.size());
    nodes.push_back(node);
  }
  return nodes;
}

}  // namespace thalweg::engine::cpu
