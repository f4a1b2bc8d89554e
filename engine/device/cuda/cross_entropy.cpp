#include <stdexcept>

#include "engine/device/cuda/builder.h"
#include "engine/device/cuda/layer.h"

namespace thalweg::engine::cuda {

void cross_entropy(Builder&, TensorId, TensorId) {
  throw std::invalid_argument("device cuda has no loss cross_entropy");
}

}  // namespace thalweg::engine::cuda
