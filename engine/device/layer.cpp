#include "engine/device/layer.h"

namespace thalweg::engine {

std::vector<int> Graph::uses() const {
  std::vector<int> count(layers.size() + 1, 0);
  for (const LayerPlan& layer : layers)
    for (const int value : layer.from)
      ++count[static_cast<std::size_t>(value)];
  return count;
}

}  // namespace thalweg::engine
