// linear: y[n, o] = sum_i x[n, i] * weight[o, i] + bias[o]; weight is (out, in). Of (positions,
// features), every position of every sample is a row n.
#include <stdexcept>

#include "engine/layers/row.h"

namespace thalweg::engine::reference {
namespace {

void linear_plan(LayerPlan& layer, const jobspec::Options& options) {
  if (layer.in.empty() || layer.in.size() > 2)
    throw std::invalid_argument("expects flat features, got " + to_text(layer.in) +
                                ": put a flatten layer before it");
  const std::int64_t inputs = layer.in.back(), outputs = options.integer("outputs");
  layer.out = layer.in;
  layer.out.back() = outputs;
  layer.parameters = {{"weight", {outputs, inputs}, Init::scaled_normal, inputs}};
  if (options.flag("bias"))
    layer.parameters.push_back({"bias", {outputs}, Init::zeros, 0, 1, true});
}

LayerFlops linear_flops(const LayerPlan& layer) {
  const std::int64_t rows = elements(layer.in) / layer.in.back();
  return LayerFlops::with_weights(static_cast<double>(rows * layer.in.back() * layer.out.back()));
}

template <class T>
void linear_forward(const LayerPlan& layer, const Call<T>& call) {
  const std::int64_t inputs = layer.in.back(), outputs = layer.out.back();
  const std::int64_t rows = call.samples() * elements(layer.in) / inputs;
  const bool bias = layer.parameters.size() > 1;
  for (std::int64_t n = 0; n < rows; ++n) {
    for (std::int64_t o = 0; o < outputs; ++o) {
      T sum = bias ? call.weights[1][o] : T{0};
      for (std::int64_t i = 0; i < inputs; ++i)
        sum += call.x[n * inputs + i] * call.weights[0][o * inputs + i];
      call.y[n * outputs + o] = sum;
    }
  }
}

template <class T>
void linear_backward(const LayerPlan& layer, const Call<T>& call) {
  const std::int64_t inputs = layer.in.back(), outputs = layer.out.back();
  const std::int64_t rows = call.samples() * elements(layer.in) / inputs;
  for (std::int64_t o = 0; o < outputs; ++o) {
    for (std::int64_t i = 0; i < inputs; ++i) {
      T sum = 0;
      for (std::int64_t n = 0; n < rows; ++n)
        sum += call.dy[n * outputs + o] * call.x[n * inputs + i];
      call.gradients[0][o * inputs + i] = sum;
    }
    if (layer.parameters.size() < 2) continue;
    T sum = 0;
    for (std::int64_t n = 0; n < rows; ++n)
      sum += call.dy[n * outputs + o];
    call.gradients[1][o] = sum;
  }
  if (call.dx == nullptr) return;
  for (std::int64_t n = 0; n < rows; ++n) {
    for (std::int64_t i = 0; i < inputs; ++i) {
      T sum = 0;
      for (std::int64_t o = 0; o < outputs; ++o)
        sum += call.dy[n * outputs + o] * call.weights[0][o * inputs + i];
      call.dx[n * inputs + i] = sum;
    }
  }
}

}  // namespace

const Layer linear{linear_plan,
                   {linear_forward<float>, linear_backward<float>},
                   {linear_forward<double>, linear_backward<double>},
                   linear_flops};

}  // namespace thalweg::engine::reference

namespace thalweg::engine::layers {

LayerKind linear() {
  return {.doc = "fully connected",
          .options = {required("outputs", "output features"), bias_option()},
          .reference = &reference::linear,
          .multiplies = true,
          .fuses_relu = true,
          .fuses_sum = true,
          .reorders_inputs = true};
}

}  // namespace thalweg::engine::layers
