// Gemm of features; of positions MatMul, which takes the weights transposed.
#include "engine/layers/onnx.h"

namespace thalweg::engine::onnx {

std::string linear(Builder& b, const LayerPlan& layer, const std::vector<std::string>& x,
                   const std::vector<std::string>& w) {
  if (layer.in.size() == 1) {
    std::vector<std::string> all{x[0]};
    all.insert(all.end(), w.begin(), w.end());
    return b.node("Gemm", all, {{"transB", std::int64_t{1}}});
  }
  const std::string product = b.node("MatMul", {x[0], b.transpose(w[0], {1, 0})});
  return w.size() > 1 ? b.node("Add", {product, w[1]}) : product;
}

}  // namespace thalweg::engine::onnx
