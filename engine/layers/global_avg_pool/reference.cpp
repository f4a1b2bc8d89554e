// global_avg_pool: the mean of every channel over its image or volume.
#include <stdexcept>

#include "engine/layers/row.h"

namespace thalweg::engine::reference {
namespace {

void global_avg_pool_plan(LayerPlan& layer, const jobspec::Options&) {
  if (layer.in.size() < 2)
    throw std::invalid_argument("expects images or volumes (channels, ...), got " +
                                to_text(layer.in));
  layer.out = {layer.in[0]};
}

template <class T>
void global_avg_pool_forward(const LayerPlan& layer, const Call<T>& call) {
  const std::int64_t pixels = elements(layer.in) / layer.in[0];
  for (std::int64_t c = 0; c < call.samples() * layer.in[0]; ++c) {
    T sum = 0;
    for (std::int64_t i = 0; i < pixels; ++i)
      sum += call.x[c * pixels + i];
    call.y[c] = sum / static_cast<T>(pixels);
  }
}

template <class T>
void global_avg_pool_backward(const LayerPlan& layer, const Call<T>& call) {
  if (call.dx == nullptr) return;
  const std::int64_t pixels = elements(layer.in) / layer.in[0];
  for (std::int64_t i = 0; i < call.samples() * elements(layer.in); ++i)
    call.dx[i] = call.dy[i / pixels] / static_cast<T>(pixels);
}

}  // namespace

const Layer global_avg_pool{global_avg_pool_plan,
                            {global_avg_pool_forward<float>, global_avg_pool_backward<float>},
                            {global_avg_pool_forward<double>, global_avg_pool_backward<double>}};

}  // namespace thalweg::engine::reference

namespace thalweg::engine::layers {

LayerKind global_avg_pool() {
  return {.doc = "mean of each channel", .options = {}, .reference = &reference::global_avg_pool};
}

}  // namespace thalweg::engine::layers
