#include <stdexcept>

#include "engine/device/cuda/builder.h"
#include "engine/device/cuda/layer.h"

namespace thalweg::engine::cuda {

void bce(Builder&, TensorId, TensorId) {
  throw std::invalid_argument("device cuda has no loss bce");
}

}  // namespace thalweg::engine::cuda
