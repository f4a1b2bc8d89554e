// dropout: in training y = keep * x / (1 - probability), where keep is 0 with that probability
// (Srivastava et al., JMLR 2014, scaled in training); in evaluation y = x. The mask is keyed:
// engine/device/dropout_mask.h.
#include <algorithm>

#include "engine/device/dropout_mask.h"
#include "engine/layers/dropout/options.h"
#include "engine/layers/row.h"

namespace thalweg::engine::reference {
namespace {

void dropout_plan(LayerPlan& layer, const jobspec::Options& options) {
  layer.out = layer.in;
  layer.options = DropoutOptions{options.real("probability")};
}

template <class T>
void mask(const LayerPlan& layer, const Call<T>& call, const T* from, T* to) {
  const std::int64_t features = elements(layer.in);
  const double probability = layer.options_as<DropoutOptions>().probability;
  const DropoutMask kept(probability, layer.number, features);
  const T scale = T{1} / (T{1} - static_cast<T>(probability));
  for (int n = 0; n < call.samples(); ++n)
    for (std::int64_t i = 0; i < features; ++i)
      to[n * features + i] = kept.keeps(*call.batch, n, i) ? from[n * features + i] * scale : T{0};
}

template <class T>
void dropout_forward(const LayerPlan& layer, const Call<T>& call) {
  if (call.training)
    mask(layer, call, call.x, call.y);
  else
    std::copy_n(call.x, call.samples() * elements(layer.in), call.y);
}

template <class T>
void dropout_backward(const LayerPlan& layer, const Call<T>& call) {
  if (call.dx != nullptr) mask(layer, call, call.dy, call.dx);
}

}  // namespace

const Layer dropout{dropout_plan,
                    {dropout_forward<float>, dropout_backward<float>},
                    {dropout_forward<double>, dropout_backward<double>}};

}  // namespace thalweg::engine::reference

namespace thalweg::engine::layers {

LayerKind dropout() {
  return {.doc = "leaves out elements at random in training",
          .options = {float_option("probability", 0.5, 0, 0.999, "share of elements left out")},
          .reference = &reference::dropout};
}

}  // namespace thalweg::engine::layers
