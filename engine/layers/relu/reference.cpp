// relu: y = max(x, 0). A NaN stays one.
#include "engine/layers/row.h"

namespace thalweg::engine::reference {
namespace {

void relu_plan(LayerPlan& layer, const jobspec::Options&) {
  layer.out = layer.in;
}

template <class T>
void relu_forward(const LayerPlan& layer, const Call<T>& call) {
  for (std::int64_t i = 0; i < call.samples() * elements(layer.in); ++i)
    call.y[i] = call.x[i] < 0 ? T{0} : call.x[i];
}

template <class T>
void relu_backward(const LayerPlan& layer, const Call<T>& call) {
  if (call.dx == nullptr) return;
  for (std::int64_t i = 0; i < call.samples() * elements(layer.in); ++i)
    call.dx[i] = call.x[i] > 0 ? call.dy[i] : T{0};
}

}  // namespace

const Layer relu{relu_plan,
                 {relu_forward<float>, relu_backward<float>},
                 {relu_forward<double>, relu_backward<double>}};

}  // namespace thalweg::engine::reference

namespace thalweg::engine::layers {

LayerKind relu() {
  return {.doc = "max(x, 0)", .options = {}, .reference = &reference::relu, .is_relu = true};
}

}  // namespace thalweg::engine::layers
