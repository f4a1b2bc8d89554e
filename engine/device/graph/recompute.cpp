#include "engine/device/graph/recompute.h"

#include <algorithm>
#include <limits>

#include "engine/tensor/shape.h"

namespace thalweg::engine {
namespace {

struct Chain {
  std::vector<double> size;      ///< of what each node puts out
  std::vector<double> crossing;  ///< of the values that nodes up to this one hand to later ones
};

std::size_t last_taker(const std::vector<Node>& nodes, std::size_t maker) {
  std::size_t last = maker;
  for (std::size_t i = maker + 1; i < nodes.size(); ++i) {
    const std::vector<int>& from = nodes[i].from;
    if (std::find(from.begin(), from.end(), nodes[maker].value) != from.end()) last = i;
  }
  return last;
}

Chain chain_of(const Graph& graph, const std::vector<Node>& nodes) {
  Chain chain;
  chain.crossing.resize(nodes.size(), 0.0);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    // A relu or pool that has changed places puts out the smaller of both.
    const auto made_by = static_cast<std::size_t>(nodes[i].value) - 1;
    chain.size.push_back(static_cast<double>(
        std::min(elements(graph.layers[made_by].out), elements(nodes[i].layer->out))));
    for (std::size_t k = i; k < last_taker(nodes, i); ++k)
      chain.crossing[k] += chain.size[i];
  }
  return chain;
}

/// Ends of segments of at most `most` each, so that least crosses them.
std::vector<std::size_t> cut(const Chain& chain, double most) {
  const std::size_t n = chain.size.size();
  std::vector<double> least(n + 1, std::numeric_limits<double>::infinity());
  std::vector<std::size_t> start(n + 1, 0);
  least[0] = 0;
  for (std::size_t end = 1; end <= n; ++end) {
    double inside = 0;
    for (std::size_t first = end; first-- > 0;) {
      inside += chain.size[first];
      if (inside > most && first + 1 < end) break;
      const double cost = least[first] + (end < n ? chain.crossing[end - 1] : 0);
      if (cost >= least[end]) continue;
      least[end] = cost;
      start[end] = first;
    }
  }
  std::vector<std::size_t> ends;
  for (std::size_t end = n; end > 0; end = start[end])
    ends.push_back(end);
  std::reverse(ends.begin(), ends.end());
  return ends;
}

std::vector<int> numbered(const std::vector<std::size_t>& ends, std::size_t nodes) {
  std::vector<int> segments(nodes, -1);
  std::size_t first = 0;
  for (std::size_t s = 0; s + 1 < ends.size(); first = ends[s++])
    std::fill(segments.begin() + static_cast<std::ptrdiff_t>(first),
              segments.begin() + static_cast<std::ptrdiff_t>(ends[s]), static_cast<int>(s));
  return segments;
}

/// What is kept and, while a segment's backward runs, what it has made.
double memory_of(const std::vector<Node>& nodes, const Chain& chain,
                 const std::vector<int>& segments) {
  double kept = 0, largest = 0, inside = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (i > 0 && segments[i] != segments[i - 1]) inside = 0;
    if (crosses(nodes, segments, i))
      kept += chain.size[i];
    else
      inside += chain.size[i];
    largest = std::max(largest, inside);
  }
  return kept + largest;
}

}  // namespace

bool crosses(const std::vector<Node>& nodes, const std::vector<int>& segments, std::size_t maker) {
  return segments[last_taker(nodes, maker)] != segments[maker];
}

std::vector<int> segments_of(const Graph& graph, const std::vector<Node>& nodes) {
  std::vector<int> best(nodes.size(), -1);
  if (nodes.size() < 2) return best;
  const Chain chain = chain_of(graph, nodes);
  double least = memory_of(nodes, chain, best);
  const double smallest = *std::max_element(chain.size.begin(), chain.size.end());
  constexpr double finer = 1.15;  // a ladder of bounds, some forty of them
  for (double most = least; most >= smallest; most /= finer) {
    const std::vector<int> segments = numbered(cut(chain, most), nodes.size());
    const double memory = memory_of(nodes, chain, segments);
    if (memory >= least) continue;
    least = memory;
    best = segments;
  }
  return best;
}

}  // namespace thalweg::engine
