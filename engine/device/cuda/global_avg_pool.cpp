#include <stdexcept>

#include "engine/device/cuda/builder.h"
#include "engine/device/cuda/layer.h"

namespace thalweg::engine::cuda {

TensorId global_avg_pool(Builder&, const Node&, TensorId) {
  throw std::invalid_argument("device cuda has no global_avg_pool");
}

}  // namespace thalweg::engine::cuda
