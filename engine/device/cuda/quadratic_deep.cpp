#include <stdexcept>

#include "engine/device/cuda/builder.h"
#include "engine/device/cuda/layer.h"

namespace thalweg::engine::cuda {

void quadratic_deep(Builder&, TensorId, TensorId) {
  throw std::invalid_argument("device cuda has no loss quadratic_deep");
}

}  // namespace thalweg::engine::cuda
