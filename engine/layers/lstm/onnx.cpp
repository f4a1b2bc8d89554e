// LSTM has its gates in the order i, o, f, g, ours (PyTorch's) is i, f, g, o: the weights stay as
// they are in the file and are put in order by Gather.
#include "engine/layers/onnx.h"

namespace thalweg::engine::onnx {

std::string lstm(Builder& b, const LayerPlan& layer, const std::vector<std::string>& x,
                 const std::vector<std::string>& w) {
  const std::int64_t width = layer.out.back();
  Integers order;
  for (const std::int64_t gate : {0, 3, 1, 2})
    for (std::int64_t i = 0; i < width; ++i)
      order.push_back(gate * width + i);
  const std::string in_order = b.integers(order), front = b.integers({0});
  const auto gates = [&](const std::string& weight) {
    return b.node("Gather", {weight, in_order}, {{"axis", std::int64_t{0}}});
  };
  const auto one_direction = [&](const std::string& weight) {
    return b.node("Unsqueeze", {weight, front});
  };
  const std::string bias =
      b.node("Concat", {gates(w[2]), gates(w[3])}, {{"axis", std::int64_t{0}}});
  const bool last = layer.out.size() == 1;
  const std::string y = b.node("LSTM",
                               {b.transpose(x[0], {1, 0, 2}), one_direction(gates(w[0])),
                                one_direction(gates(w[1])), one_direction(bias)},
                               {{"hidden_size", width}}, last ? 1 : 0);
  if (last) return b.node("Squeeze", {y, front});
  return b.transpose(b.node("Squeeze", {y, b.integers({1})}), {1, 0, 2});
}

}  // namespace thalweg::engine::onnx
