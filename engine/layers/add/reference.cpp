// add: the sum of all inputs, which have the same shape: where branches of a residual network meet.
#include <stdexcept>

#include "engine/layers/row.h"

namespace thalweg::engine::reference {
namespace {

void add_plan(LayerPlan& layer, const jobspec::Options&) {
  for (const Shape& shape : layer.ins)
    if (shape != layer.in)
      throw std::invalid_argument("expects inputs of one shape, got " + to_text(layer.in) +
                                  " and " + to_text(shape));
  layer.out = layer.in;
}

template <class T>
void add_forward(const LayerPlan& layer, const Call<T>& call) {
  for (std::int64_t i = 0; i < call.samples() * elements(layer.in); ++i) {
    call.y[i] = call.xs[0][i];
    for (std::size_t k = 1; k < call.xs.size(); ++k)
      call.y[i] += call.xs[k][i];
  }
}

template <class T>
void add_backward(const LayerPlan& layer, const Call<T>& call) {
  for (T* dx : call.dxs)
    for (std::int64_t i = 0; dx != nullptr && i < call.samples() * elements(layer.in); ++i)
      dx[i] = call.dy[i];
}

}  // namespace

const Layer add{add_plan,
                {add_forward<float>, add_backward<float>},
                {add_forward<double>, add_backward<double>}};

}  // namespace thalweg::engine::reference

namespace thalweg::engine::layers {

LayerKind add() {
  return {.doc = "sum of inputs of one shape",
          .options = {},
          .reference = &reference::add,
          .inputs = 0,
          .is_sum = true,
          .fuses_relu = true};
}

}  // namespace thalweg::engine::layers
