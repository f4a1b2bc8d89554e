#include <stdexcept>

#include "engine/device/cuda/builder.h"
#include "engine/device/cuda/layer.h"

namespace thalweg::engine::cuda {

TensorId dropout(Builder&, const Node&, TensorId) {
  throw std::invalid_argument("device cuda has no dropout");
}

}  // namespace thalweg::engine::cuda
