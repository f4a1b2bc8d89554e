#include <stdexcept>

#include "engine/device/cuda/builder.h"
#include "engine/device/cuda/layer.h"

namespace thalweg::engine::cuda {

void dice(Builder&, TensorId, TensorId) {
  throw std::invalid_argument("device cuda has no loss dice");
}

}  // namespace thalweg::engine::cuda
