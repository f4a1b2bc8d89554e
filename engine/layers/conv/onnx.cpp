// Conv and ConvTranspose have our layout of weights.
#include "engine/layers/onnx.h"
#include "engine/layers/conv/options.h"

namespace thalweg::engine::onnx {

namespace {

std::vector<Attribute> attributes(const Window& w) {
  Integers pads = w.shape(w.padding);
  pads.insert(pads.end(), pads.begin(), pads.begin() + w.directions);
  return {{"kernel_shape", w.shape(w.kernel)}, {"strides", w.shape(w.stride)}, {"pads", pads}};
}

std::string convolve(Builder& b, const char* op, const LayerPlan& layer, const std::string& x,
                     std::vector<std::string> w) {
  w.insert(w.begin(), x);
  return b.node(op, w, attributes(layer.options_as<ConvOptions>().window));
}

}  // namespace

std::string conv2d(Builder& b, const LayerPlan& layer, const std::vector<std::string>& x,
                   const std::vector<std::string>& w) {
  return convolve(b, "Conv", layer, x[0], w);
}

std::string conv3d(Builder& b, const LayerPlan& layer, const std::vector<std::string>& x,
                   const std::vector<std::string>& w) {
  return convolve(b, "Conv", layer, x[0], w);
}

std::string conv_transpose2d(Builder& b, const LayerPlan& layer, const std::vector<std::string>& x,
                             const std::vector<std::string>& w) {
  return convolve(b, "ConvTranspose", layer, x[0], w);
}

std::string conv_transpose3d(Builder& b, const LayerPlan& layer, const std::vector<std::string>& x,
                             const std::vector<std::string>& w) {
  return convolve(b, "ConvTranspose", layer, x[0], w);
}

}  // namespace thalweg::engine::onnx
