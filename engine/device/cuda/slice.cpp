#include <stdexcept>

#include "engine/device/cuda/builder.h"
#include "engine/device/cuda/layer.h"

namespace thalweg::engine::cuda {

TensorId slice(Builder&, const Node&, TensorId) {
  throw std::invalid_argument("device cuda has no slice");
}
TensorId pad(Builder&, const Node&, TensorId) {
  throw std::invalid_argument("device cuda has no pad");
}

}  // namespace thalweg::engine::cuda
