#include <stdexcept>

#include "engine/device/cuda/builder.h"
#include "engine/device/cuda/layer.h"

namespace thalweg::engine::cuda {

TensorId max_pool2d(Builder&, const Node&, TensorId) {
  throw std::invalid_argument("device cuda has no max_pool2d");
}
TensorId max_pool3d(Builder&, const Node&, TensorId) {
  throw std::invalid_argument("device cuda has no max_pool3d");
}
TensorId avg_pool2d(Builder&, const Node&, TensorId) {
  throw std::invalid_argument("device cuda has no avg_pool2d");
}
TensorId avg_pool3d(Builder&, const Node&, TensorId) {
  throw std::invalid_argument("device cuda has no avg_pool3d");
}

}  // namespace thalweg::engine::cuda
