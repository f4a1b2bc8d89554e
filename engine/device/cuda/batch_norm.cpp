#include <stdexcept>

#include "engine/device/cuda/builder.h"
#include "engine/device/cuda/layer.h"

namespace thalweg::engine::cuda {

TensorId batch_norm(Builder&, const Node&, TensorId) {
  throw std::invalid_argument("device cuda has no batch_norm");
}

}  // namespace thalweg::engine::cuda
