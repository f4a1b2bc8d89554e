#include <stdexcept>

#include "engine/device/cuda/builder.h"
#include "engine/device/cuda/layer.h"

namespace thalweg::engine::cuda {

TensorId embedding(Builder&, const Node&, TensorId) {
  throw std::invalid_argument("device cuda has no embedding");
}
TensorId positions(Builder&, const Node&, TensorId) {
  throw std::invalid_argument("device cuda has no positions");
}

}  // namespace thalweg::engine::cuda
