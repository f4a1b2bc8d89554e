// Slice and Pad, of the positions.
#include "engine/layers/onnx.h"
#include "engine/layers/slice/options.h"

namespace thalweg::engine::onnx {

std::string slice(Builder& b, const LayerPlan& layer, const std::vector<std::string>& x,
                  const std::vector<std::string>&) {
  const std::int64_t first = layer.options_as<SliceOptions>().first;
  return b.node("Slice",
                {x[0], b.integers({first}), b.integers({first + layer.out[0]}), b.integers({1})});
}

std::string pad(Builder& b, const LayerPlan& layer, const std::vector<std::string>& x,
                const std::vector<std::string>&) {
  const std::int64_t before = layer.options_as<PadOptions>().before;
  const std::int64_t after = layer.out[0] - layer.in[0] - before;
  return b.node("Pad", {x[0], b.integers({0, before, 0, 0, after, 0})});
}

}  // namespace thalweg::engine::onnx
