#include "engine/device/cuda/node.h"

namespace thalweg::engine::cuda {
namespace {

bool takes_relu(const LayerPlan& layer) {
  return layer.kind->name == "linear" || layer.kind->name == "conv2d" ||
         layer.kind->name == "conv3d" || layer.kind->name == "batch_norm" ||
         layer.kind->name == "add";
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
    node.first_parameter = parameters;
    node.statistics = statistics;
    if (layer.kind->name == "linear" && before && before->layer->kind->name == "flatten" &&
        before->layer->in.size() >= 3) {
      before->keeps_order = true;
      node.images = before->layer->in;
    }
    parameters += static_cast<int>(layer.parameters.size());
    for (const StatisticPlan& s : layer.statistics)
      statistics += static_cast<std::size_t>(s.count);
    maker[static_cast<std::size_t>(value)] = static_cast<int>(nodes.size());
    nodes.push_back(node);
  }
  return nodes;
}

}  // namespace thalweg::engine::cuda
