#include "tests/bench/step/traffic.h"

#include <vector>

#include "engine/nn/flops.h"

namespace thalweg::engine::bench {

double bytes_of(const Graph& graph, int samples, double value_bytes, int states) {
  constexpr double floats = 4, of_value = 5;
  const std::vector<Flops> flops = layer_flops(graph);
  double values = 0;
  for (std::size_t l = 0; l < flops.size(); ++l)
    if (flops[l].forward > 0) values += static_cast<double>(elements(graph.layers[l].out));
  const double read = floats * static_cast<double>(elements(graph.loss.data.sample));
  return samples * (read + of_value * value_bytes * values) +
         static_cast<double>(parameter_count(graph)) *
             (2 * value_bytes + floats * (4 + 2 * states));
}

}  // namespace thalweg::engine::bench
