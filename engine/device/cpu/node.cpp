#include "engine/device/cpu/node.h"

namespace thalweg::engine::cpu {

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
    if (layer.kind->is_relu && before && !before->relu && before->layer->kind->fuses_relu) {
      before->relu = true;
      before->value = value;
      maker[static_cast<std::size_t>(value)] = maker[x];
      continue;
    }
    Node node;
    node.layer = &layer;
    node.value = value;
    node.any_type = !layer.kind->floats_on_cpu;
    node.first_parameter = parameters;
    node.statistics = statistics;
    if (layer.kind->is_max_pool && before && before->relu && !before->layer->kind->masks_relu) {
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
