#include <stdexcept>

#include "engine/device/cuda/builder.h"
#include "engine/device/cuda/layer.h"

namespace thalweg::engine::cuda {

TensorId repeat(Builder&, const Node&, TensorId) {
  throw std::invalid_argument("device cuda has no repeat");
}

}  // namespace thalweg::engine::cuda
