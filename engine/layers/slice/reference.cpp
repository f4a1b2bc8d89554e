// slice: some positions of (positions, features); pad: positions of zeros before and after.
#include <algorithm>
#include <stdexcept>

#include "engine/device/reference/layer.h"

namespace thalweg::engine::reference {
namespace {

void plan_slice(LayerPlan& layer) {
  const std::int64_t first = layer.integer("first"), count = layer.integer("count");
  if (layer.in.size() != 2 || first + count > layer.in[0])
    throw std::invalid_argument("expects (positions, features) of at least " +
                                std::to_string(first + count) + " positions, got " +
                                to_text(layer.in));
  layer.out = {count, layer.in[1]};
}

void plan_pad(LayerPlan& layer) {
  if (layer.in.size() != 2)
    throw std::invalid_argument("expects (positions, features), got " + to_text(layer.in));
  layer.out = {layer.integer("before") + layer.in[0] + layer.integer("after"), layer.in[1]};
}

/// `few` positions stand among `many`, the first of them at `first`.
struct Place {
  std::int64_t few, many, first;
};

Place slice_place(const LayerPlan& layer) {
  return {elements(layer.out), elements(layer.in), layer.integer("first") * layer.in[1]};
}
Place pad_place(const LayerPlan& layer) {
  return {elements(layer.in), elements(layer.out), layer.integer("before") * layer.in[1]};
}

template <class T>
void take(const Place& place, int samples, const T* many, T* few) {
  for (int n = 0; n < samples; ++n)
    std::copy_n(many + n * place.many + place.first, place.few, few + n * place.few);
}
template <class T>
void put(const Place& place, int samples, const T* few, T* many) {
  std::fill_n(many, samples * place.many, T{0});
  for (int n = 0; n < samples; ++n)
    std::copy_n(few + n * place.few, place.few, many + n * place.many + place.first);
}

template <class T>
void slice_forward(const LayerPlan& layer, const Call<T>& call) {
  take(slice_place(layer), call.samples(), call.x, call.y);
}
template <class T>
void slice_backward(const LayerPlan& layer, const Call<T>& call) {
  if (call.dx != nullptr) put(slice_place(layer), call.samples(), call.dy, call.dx);
}
template <class T>
void pad_forward(const LayerPlan& layer, const Call<T>& call) {
  put(pad_place(layer), call.samples(), call.x, call.y);
}
template <class T>
void pad_backward(const LayerPlan& layer, const Call<T>& call) {
  if (call.dx != nullptr) take(pad_place(layer), call.samples(), call.dy, call.dx);
}

}  // namespace

const Layer slice{plan_slice,
                  {slice_forward<float>, slice_backward<float>},
                  {slice_forward<double>, slice_backward<double>}};
const Layer pad{plan_pad,
                {pad_forward<float>, pad_backward<float>},
                {pad_forward<double>, pad_backward<double>}};

}  // namespace thalweg::engine::reference
