// embedding: a learned row of `width` numbers for each token. positions: a learned row added at
// each position.
#include <algorithm>
#include <stdexcept>

#include "engine/device/device.h"
#include "engine/layers/row.h"

namespace thalweg::engine::reference {
namespace {

void plan_embedding(LayerPlan& layer, const jobspec::Options& options) {
  if (layer.in.size() != 1)
    throw std::invalid_argument("expects tokens (positions), got " + to_text(layer.in));
  const std::int64_t width = options.integer("width"), tokens = options.integer("tokens");
  layer.out = {layer.in[0], width};
  layer.parameters = {{"weight", {tokens, width}, Init::small_normal}};
}

template <class T>
void embed(const LayerPlan& layer, const Call<T>& call) {
  const std::int64_t width = layer.out[1], tokens = layer.parameters[0].shape[0];
  for (std::int64_t i = 0; i < call.samples() * layer.in[0]; ++i)
    std::copy_n(call.weights[0] + token_at(call.x, i, tokens) * width, width, call.y + i * width);
}

template <class T>
void embed_backward(const LayerPlan& layer, const Call<T>& call) {
  const std::int64_t width = layer.out[1], tokens = layer.parameters[0].shape[0];
  std::fill_n(call.gradients[0], tokens * width, T{0});
  for (std::int64_t i = 0; i < call.samples() * layer.in[0]; ++i) {
    T* row = call.gradients[0] + token_at(call.x, i, tokens) * width;
    for (std::int64_t k = 0; k < width; ++k)
      row[k] += call.dy[i * width + k];
  }
}

void plan_positions(LayerPlan& layer, const jobspec::Options&) {
  if (layer.in.size() != 2)
    throw std::invalid_argument("expects (positions, features), got " + to_text(layer.in));
  layer.out = layer.in;
  layer.parameters = {{"weight", layer.in, Init::small_normal}};
}

template <class T>
void add_positions(const LayerPlan& layer, const Call<T>& call) {
  const std::int64_t count = elements(layer.in);
  for (std::int64_t i = 0; i < call.samples() * count; ++i)
    call.y[i] = call.x[i] + call.weights[0][i % count];
}

template <class T>
void add_positions_backward(const LayerPlan& layer, const Call<T>& call) {
  const std::int64_t count = elements(layer.in);
  std::fill_n(call.gradients[0], count, T{0});
  for (std::int64_t i = 0; i < call.samples() * count; ++i) {
    call.gradients[0][i % count] += call.dy[i];
    if (call.dx != nullptr) call.dx[i] = call.dy[i];
  }
}

}  // namespace

const Layer embedding{
    plan_embedding, {embed<float>, embed_backward<float>}, {embed<double>, embed_backward<double>}};
const Layer positions{plan_positions,
                      {add_positions<float>, add_positions_backward<float>},
                      {add_positions<double>, add_positions_backward<double>}};

}  // namespace thalweg::engine::reference

namespace thalweg::engine::layers {

LayerKind embedding() {
  return {
      .doc = "a learned row of numbers for each token",
      .options = {required("tokens", "how many there are"), required("width", "numbers in a row")},
      .reference = &reference::embedding,
      .tokens = true};
}

LayerKind positions() {
  return {.doc = "adds a learned row of numbers at each position",
          .options = {},
          .reference = &reference::positions};
}

}  // namespace thalweg::engine::layers
