// AveragePool leaves padding out of its means unless told otherwise, as we do.
#include "engine/layers/onnx.h"
#include "engine/device/window.h"

namespace thalweg::engine::onnx {

namespace {

std::string slide(Builder& b, const char* op, const LayerPlan& layer, const std::string& x) {
  const Window& w = layer.options_as<Window>();
  Integers pads = w.shape(w.padding);
  pads.insert(pads.end(), pads.begin(), pads.begin() + w.directions);
  return b.node(
      op, {x},
      {{"kernel_shape", w.shape(w.kernel)}, {"strides", w.shape(w.stride)}, {"pads", pads}});
}

}  // namespace

std::string max_pool2d(Builder& b, const LayerPlan& layer, const std::vector<std::string>& x,
                       const std::vector<std::string>&) {
  return slide(b, "MaxPool", layer, x[0]);
}

std::string max_pool3d(Builder& b, const LayerPlan& layer, const std::vector<std::string>& x,
                       const std::vector<std::string>&) {
  return slide(b, "MaxPool", layer, x[0]);
}

std::string avg_pool2d(Builder& b, const LayerPlan& layer, const std::vector<std::string>& x,
                       const std::vector<std::string>&) {
  return slide(b, "AveragePool", layer, x[0]);
}

std::string avg_pool3d(Builder& b, const LayerPlan& layer, const std::vector<std::string>& x,
                       const std::vector<std::string>&) {
  return slide(b, "AveragePool", layer, x[0]);
}

}  // namespace thalweg::engine::onnx
