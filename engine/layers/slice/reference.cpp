// slice: some positions of (positions, features); pad: positions of zeros before and after.
#include <algorithm>
#include <stdexcept>

#include "engine/layers/row.h"
#include "engine/layers/slice/options.h"

namespace thalweg::engine::reference {
namespace {

void plan_slice(LayerPlan& layer, const jobspec::Options& options) {
  const std::int64_t first = options.integer("first"), count = options.integer("count");
  if (layer.in.size() != 2 || first + count > layer.in[0])
    throw std::invalid_argument("expects (positions, features) of at least " +
                                std::to_string(first + count) + " positions, got " +
                                to_text(layer.in));
  layer.out = {count, layer.in[1]};
  layer.options = SliceOptions{first};
}

void plan_pad(LayerPlan& layer, const jobspec::Options& options) {
  if (layer.in.size() != 2)
    throw std::invalid_argument("expects (positions, features), got " + to_text(layer.in));
  const std::int64_t before = options.integer("before");
  layer.out = {before + layer.in[0] + options.integer("after"), layer.in[1]};
  layer.options = PadOptions{before};
}

/// `few` positions stand among `many`, the first of them at `first`.
struct Place {
  std::int64_t few, many, first;
};

Place slice_place(const LayerPlan& layer) {
  return {elements(layer.out), elements(layer.in),
          layer.options_as<SliceOptions>().first * layer.in[1]};
}
Place pad_place(const LayerPlan& layer) {
  return {elements(layer.in), elements(layer.out),
          layer.options_as<PadOptions>().before * layer.in[1]};
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

namespace thalweg::engine::layers {

LayerKind slice() {
  return {.doc = "some of the positions",
          .options = {whole("first", "of them, from 0", 0, 0), required("count", "how many")},
          .reference = &reference::slice,
          .floats_on_cpu = true};
}

LayerKind pad() {
  return {.doc = "positions of zeros on either side",
          .options = {whole("before", "how many", 0, 0), whole("after", "how many", 0, 0)},
          .reference = &reference::pad,
          .floats_on_cpu = true};
}

}  // namespace thalweg::engine::layers
