#include <stdexcept>

#include "engine/device/cuda/builder.h"
#include "engine/device/cuda/layer.h"

namespace thalweg::engine::cuda {

TensorId upsample(Builder&, const Node&, TensorId) {
  throw std::invalid_argument("device cuda has no upsample");
}

}  // namespace thalweg::engine::cuda
