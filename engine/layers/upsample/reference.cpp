// upsample: every pixel of images, or voxel of volumes, `factor` times in every direction.
#include <algorithm>
#include <stdexcept>

#include "engine/layers/row.h"

namespace thalweg::engine::reference {
namespace {

void upsample_plan(LayerPlan& layer, const jobspec::Options& options) {
  if (layer.in.size() < 3)
    throw std::invalid_argument("expects images or volumes, got " + to_text(layer.in));
  layer.out = layer.in;
  for (std::size_t d = 1; d < layer.out.size(); ++d)
    layer.out[d] *= options.integer("factor");
}

/// visit(element of the input, element of the output) for every element of the output.
template <class Visit>
void for_each_copy(const LayerPlan& layer, int samples, Visit visit) {
  const std::int64_t factor = layer.out.back() / layer.in.back();
  Shape in = layer.in;
  in.insert(in.begin(), samples);
  for (std::int64_t y = 0; y < samples * elements(layer.out); ++y) {
    std::int64_t rest = y, x = 0, step = 1;
    for (std::size_t d = in.size(); d-- > 0;) {
      const std::int64_t repeats = d < 2 ? 1 : factor;
      x += rest % (in[d] * repeats) / repeats * step;
      rest /= in[d] * repeats;
      step *= in[d];
    }
    visit(x, y);
  }
}

template <class T>
void upsample_forward(const LayerPlan& layer, const Call<T>& call) {
  for_each_copy(layer, call.samples(),
                [&](std::int64_t x, std::int64_t y) { call.y[y] = call.x[x]; });
}

template <class T>
void upsample_backward(const LayerPlan& layer, const Call<T>& call) {
  if (call.dx == nullptr) return;
  std::fill_n(call.dx, call.samples() * elements(layer.in), T{0});
  for_each_copy(layer, call.samples(),
                [&](std::int64_t x, std::int64_t y) { call.dx[x] += call.dy[y]; });
}

}  // namespace

const Layer upsample{upsample_plan,
                     {upsample_forward<float>, upsample_backward<float>},
                     {upsample_forward<double>, upsample_backward<double>}};

}  // namespace thalweg::engine::reference

namespace thalweg::engine::layers {

LayerKind upsample() {
  return {.doc = "repeats every pixel or voxel",
          .options = {jobspec::int_option("factor", 2, 1, 64, "times in every direction")},
          .reference = &reference::upsample};
}

}  // namespace thalweg::engine::layers
