#include <stdexcept>

#include "engine/device/cuda/builder.h"
#include "engine/device/cuda/layer.h"

namespace thalweg::engine::cuda {

TensorId conv2d(Builder&, const Node&, TensorId) {
  throw std::invalid_argument("device cuda has no conv2d");
}
TensorId conv3d(Builder&, const Node&, TensorId) {
  throw std::invalid_argument("device cuda has no conv3d");
}
TensorId conv_transpose2d(Builder&, const Node&, TensorId) {
  throw std::invalid_argument("device cuda has no conv_transpose2d");
}
TensorId conv_transpose3d(Builder&, const Node&, TensorId) {
  throw std::invalid_argument("device cuda has no conv_transpose3d");
}

}  // namespace thalweg::engine::cuda
