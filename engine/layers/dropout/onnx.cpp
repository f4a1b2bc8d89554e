// Nothing is left out after training.
#include "engine/layers/onnx.h"

namespace thalweg::engine::onnx {

std::string dropout(Builder&, const LayerPlan&, const std::vector<std::string>& x,
                    const std::vector<std::string>&) {
  return x[0];
}

}  // namespace thalweg::engine::onnx
