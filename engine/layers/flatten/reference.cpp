// flatten: (c, h, w) images become (c * h * w) features.
#include <algorithm>

#include "engine/layers/row.h"

namespace thalweg::engine::reference {
namespace {

void flatten_plan(LayerPlan& layer, const jobspec::Options&) {
  layer.out = {elements(layer.in)};
}

template <class T>
void flatten_forward(const LayerPlan& layer, const Call<T>& call) {
  std::copy_n(call.x, call.samples() * elements(layer.in), call.y);
}

template <class T>
void flatten_backward(const LayerPlan& layer, const Call<T>& call) {
  if (call.dx != nullptr) std::copy_n(call.dy, call.samples() * elements(layer.in), call.dx);
}

}  // namespace

const Layer flatten{flatten_plan,
                    {flatten_forward<float>, flatten_backward<float>},
                    {flatten_forward<double>, flatten_backward<double>}};

}  // namespace thalweg::engine::reference

namespace thalweg::engine::layers {

LayerKind flatten() {
  return {.doc = "images become features",
          .options = {},
          .reference = &reference::flatten,
          .flattens = true};
}

}  // namespace thalweg::engine::layers
