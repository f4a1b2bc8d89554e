// concat: concatenates inputs: channels of images and volumes, features of positions, features.
#include <algorithm>
#include <stdexcept>

#include "engine/device/concat.h"
#include "engine/layers/row.h"

namespace thalweg::engine::reference {
namespace {

void concat_plan(LayerPlan& layer, const jobspec::Options&) {
  const std::size_t axis = concat_axis(layer.in);
  layer.out = layer.in;
  layer.out[axis] = 0;
  for (const Shape& shape : layer.ins) {
    Shape others = shape;
    if (others.size() == layer.in.size()) others[axis] = layer.in[axis];
    if (others != layer.in)
      throw std::invalid_argument(
          "expects inputs that differ in " + std::string(axis == 0 ? "their first" : "their last") +
          " size only, got " + to_text(layer.in) + " and " + to_text(shape));
    layer.out[axis] += shape[axis];
  }
}

/// visit(input, first element in the input, first element in the output, count) for every range
/// that is copied.
template <class Visit>
void for_each_range(const LayerPlan& layer, int samples, Visit visit) {
  const std::int64_t repeats =
      samples * (concat_axis(layer.in) == 0 ? 1 : layer.in.front());  // of ranges
  const std::int64_t row = samples * elements(layer.out) / repeats;
  std::int64_t first = 0;
  for (std::size_t k = 0; k < layer.ins.size(); ++k) {
    const std::int64_t count = samples * elements(layer.ins[k]) / repeats;
    for (std::int64_t r = 0; r < repeats; ++r)
      visit(k, r * count, r * row + first, count);
    first += count;
  }
}

template <class T>
void concat_forward(const LayerPlan& layer, const Call<T>& call) {
  for_each_range(layer, call.samples(),
                 [&](std::size_t k, std::int64_t x, std::int64_t y, std::int64_t count) {
                   std::copy_n(call.xs[k] + x, count, call.y + y);
                 });
}

template <class T>
void concat_backward(const LayerPlan& layer, const Call<T>& call) {
  for_each_range(layer, call.samples(),
                 [&](std::size_t k, std::int64_t x, std::int64_t y, std::int64_t count) {
                   if (call.dxs[k] != nullptr) std::copy_n(call.dy + y, count, call.dxs[k] + x);
                 });
}

}  // namespace

const Layer concat{concat_plan,
                   {concat_forward<float>, concat_backward<float>},
                   {concat_forward<double>, concat_backward<double>}};

}  // namespace thalweg::engine::reference

namespace thalweg::engine::layers {

LayerKind concat() {
  return {.doc =
              "concatenates its inputs along the channels of images and volumes, else along the "
              "features",
          .options = {},
          .reference = &reference::concat,
          .inputs = 0};
}

}  // namespace thalweg::engine::layers
