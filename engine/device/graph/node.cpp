#include "engine/device/graph/node.h"

#include <utility>

namespace thalweg::engine {
namespace {

bool takes_sum(const LayerPlan& layer) {
  return layer.kind->fuses_sum && (layer.kind->multiplies || layer.in.size() != 2);
}

/// Nodes while they are collected.
struct Nodes {
  std::vector<Node> all;
  std::vector<int> maker;  ///< the node that puts out each value

  void put(Node node, int value) {
    node.value = value;
    maker[static_cast<std::size_t>(value)] = static_cast<int>(all.size());
    all.push_back(std::move(node));
  }
  Node& of(int value) {
    return all[static_cast<std::size_t>(maker[static_cast<std::size_t>(value)])];
  }
  Node take(std::size_t number) {
    Node node = std::move(all[number]);
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(number));
    for (int& m : maker)
      if (m > static_cast<int>(number)) --m;
    return node;
  }
};

/// A batch_norm or linear layer that only `sum` takes, which adds one other value to it: joined, it
/// stands where the sum did.
bool join_sum(Nodes& nodes, const LayerPlan& sum, const std::vector<int>& uses) {
  if (sum.from.size() != 2) return false;
  for (std::size_t k = 0; k < 2; ++k) {
    const auto value = static_cast<std::size_t>(sum.from[k]);
    if (value == 0 || uses[value] != 1) continue;
    const auto maker = static_cast<std::size_t>(nodes.maker[value]);
    const Node& node = nodes.all[maker];
    if (!takes_sum(*node.layer) || node.relu || node.adds) continue;
    Node joined = nodes.take(maker);
    joined.adds = true;
    joined.from.push_back(sum.from[1 - k]);
    nodes.put(std::move(joined), sum.number + 1);
    return true;
  }
  return false;
}

/// Whether the value before `pool` is that of relu or leaky_relu after a convolution. Neither
/// changes which of two numbers is larger, so that it may come after the pool, which leaves fewer.
bool may_swap(const Node& before) {
  return before.layer->kind->swaps_with_max_pool || (before.relu && before.layer->kind->multiplies);
}

/// Puts a max pool before relu or leaky_relu, which puts out value `x`.
void swap_with_pool(Nodes& nodes, const Graph& graph, Node pool, int x) {
  const LayerPlan& change = graph.layers[static_cast<std::size_t>(x) - 1];
  Node after;
  if (nodes.of(x).relu) {
    nodes.of(x).relu = false;
    nodes.of(x).value = change.from.front();
    after.layer = &change;
  } else {
    after = nodes.take(static_cast<std::size_t>(nodes.maker[static_cast<std::size_t>(x)]));
  }
  pool.from = {change.from.front()};
  after.from = {x};
  const int value = pool.layer->number + 1;
  nodes.put(std::move(pool), x);
  nodes.put(std::move(after), value);
}

/// An lstm over one whose h of all positions only it takes: a library can run position t of the
/// one beside position t + 1 of the other.
bool join_lstm(Node& below, const LayerPlan& layer, int parameters) {
  constexpr std::size_t max_over = 3;
  if (!layer.kind->stacks || below.layer->kind != layer.kind) return false;
  const auto stacked = static_cast<int>(below.over.size());
  if (below.over.size() == max_over || layer.in.size() != 2 ||
      layer.out.back() != below.layer->out.back() ||
      parameters != below.first_parameter + 4 * (1 + stacked))
    return false;
  below.over.push_back(&layer);
  return true;
}

}  // namespace

bool adds_before_relu(const Node& node) {
  return node.adds && node.relu && node.layer->kind->masks_relu;
}

std::vector<Node> fuse(const Graph& graph, const Joins& joins) {
  const std::vector<int> uses = graph.uses();
  Nodes nodes{{}, std::vector<int>(graph.layers.size() + 1, -1)};
  int parameters = 0;
  std::size_t statistics = 0;
  for (const LayerPlan& layer : graph.layers) {
    const int value = layer.number + 1;
    const auto x = static_cast<std::size_t>(layer.from.front());
    const bool only_taker = x > 0 && uses[x] == 1;
    Node* before = only_taker ? &nodes.all[static_cast<std::size_t>(nodes.maker[x])] : nullptr;
    if (joins.relu && layer.kind->is_relu && before && !before->relu &&
        before->layer->kind->fuses_relu) {
      before->relu = true;
      before->value = value;
      nodes.maker[static_cast<std::size_t>(value)] = nodes.maker[x];
      continue;
    }
    if (joins.stacks && before && join_lstm(*before, layer, parameters)) {
      parameters += static_cast<int>(layer.parameters.size());
      before->value = value;
      nodes.maker[static_cast<std::size_t>(value)] = nodes.maker[x];
      continue;
    }
    if (joins.sums && layer.kind->is_sum && join_sum(nodes, layer, uses)) continue;
    Node node;
    node.layer = &layer;
    node.from = layer.from;
    node.first_parameter = parameters;
    node.statistics = statistics;
    if (layer.kind->reorders_inputs && before && before->layer->kind->flattens &&
        before->layer->in.size() >= 3) {
      before->keeps_order = true;
      node.images = before->layer->in;
    }
    if (joins.pool_first && layer.kind->is_max_pool && before && may_swap(*before)) {
      swap_with_pool(nodes, graph, std::move(node), layer.from.front());
      continue;
    }
    if (joins.pool_masks && layer.kind->is_max_pool && before && before->relu &&
        !before->layer->kind->masks_relu) {
      node.masks_relu_before = true;
      before->relu_masked_by_next = true;
    }
    parameters += static_cast<int>(layer.parameters.size());
    for (const StatisticPlan& s : layer.statistics)
      statistics += static_cast<std::size_t>(s.count);
    nodes.put(std::move(node), value);
  }
  return std::move(nodes.all);
}

}  // namespace thalweg::engine
