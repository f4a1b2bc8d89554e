#include <stdexcept>

#include "engine/device/cuda/builder.h"
#include "engine/device/cuda/layer.h"

namespace thalweg::engine::cuda {

TensorId layer_norm(Builder&, const Node&, TensorId) {
  throw std::invalid_argument("device cuda has no layer_norm");
}

}  // namespace thalweg::engine::cuda
