#include <stdexcept>

#include "engine/device/cuda/builder.h"
#include "engine/device/cuda/layer.h"

namespace thalweg::engine::cuda {

TensorId attention(Builder&, const Node&, TensorId) {
  throw std::invalid_argument("device cuda has no attention");
}

}  // namespace thalweg::engine::cuda
