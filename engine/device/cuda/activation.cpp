#include <stdexcept>

#include "engine/device/cuda/builder.h"
#include "engine/device/cuda/layer.h"

namespace thalweg::engine::cuda {

TensorId leaky_relu(Builder&, const Node&, TensorId) {
  throw std::invalid_argument("device cuda has no leaky_relu");
}
TensorId tanh(Builder&, const Node&, TensorId) {
  throw std::invalid_argument("device cuda has no tanh");
}
TensorId sigmoid(Builder&, const Node&, TensorId) {
  throw std::invalid_argument("device cuda has no sigmoid");
}
TensorId gelu(Builder&, const Node&, TensorId) {
  throw std::invalid_argument("device cuda has no gelu");
}
TensorId silu(Builder&, const Node&, TensorId) {
  throw std::invalid_argument("device cuda has no silu");
}

}  // namespace thalweg::engine::cuda
