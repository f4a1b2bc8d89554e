// slice and pad: rows copied by loops of our own.
#include <algorithm>

#include "engine/device/cpu/builder.h"
#include "engine/layers/slice/options.h"

namespace thalweg::engine::cpu {
namespace {

/// In each of `samples`, `few` numbers stand among `many`, from number `first` on.
struct Place {
  std::int64_t samples, few, many, first;

  void take(const float* from, float* to) const {
    for (std::int64_t n = 0; n < samples; ++n)
      std::copy_n(from + n * many + first, few, to + n * few);
  }
  void put(const float* from, float* to) const {
    std::fill_n(to, samples * many, 0.0f);
    for (std::int64_t n = 0; n < samples; ++n)
      std::copy_n(from + n * few, few, to + n * many + first);
  }
};

TensorId copy_rows(Builder& b, const LayerPlan& layer, TensorId given, const Place& place,
                   bool takes) {
  const Desc in = plain_desc({b.samples(), layer.in[0], layer.in[1]});
  const Desc out = plain_desc({b.samples(), layer.out[0], layer.out[1]});
  const auto add = [&b](Builder::Pass pass, const Place& at, bool take, TensorId from,
                        TensorId to) {
    b.kernel(pass, {from, to}, [=](const Frame& frame) {
      if (take)
        at.take(frame.floats(from), frame.floats(to));
      else
        at.put(frame.floats(from), frame.floats(to));
    });
  };
  const TensorId x = b.in_layout(Builder::Pass::both, given, in), y = b.activation(out);
  add(Builder::Pass::both, place, takes, x, y);
  b.on_backward([=, &b](TensorId dy) {
    dy = b.in_layout(Builder::Pass::backward, dy, out);
    const TensorId dx = b.activation(in);
    add(Builder::Pass::backward, place, !takes, dy, dx);
    return dx;
  });
  return y;
}

}  // namespace

TensorId slice(Builder& b, const Node& node, TensorId given) {
  const LayerPlan& layer = *node.layer;
  return copy_rows(b, layer, given,
                   {b.samples(), elements(layer.out), elements(layer.in),
                    layer.options_as<SliceOptions>().first * layer.in[1]},
                   true);
}

TensorId pad(Builder& b, const Node& node, TensorId given) {
  const LayerPlan& layer = *node.layer;
  return copy_rows(b, layer, given,
                   {b.samples(), elements(layer.in), elements(layer.out),
                    layer.options_as<PadOptions>().before * layer.in[1]},
                   false);
}

}  // namespace thalweg::engine::cpu
