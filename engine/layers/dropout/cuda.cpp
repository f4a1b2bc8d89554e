// dropout: the mask is drawn anew in backward rather than kept, which would cost more bytes than
// its draws cost time. Drawn by the plain number of an element, wherever it lies.
#include "engine/device/cuda/builder.h"
#include "engine/device/cuda/layout.h"
#include "engine/layers/dropout/cuda_kernels.h"
#include "engine/layers/dropout/options.h"

namespace thalweg::engine::cuda {

TensorId dropout(Builder& b, const Node& node, TensorId x) {
  const double probability = node.layer->options_as<DropoutOptions>().probability;
  const float scale = 1.0f / (1.0f - static_cast<float>(probability));
  const Desc desc = b.desc(x);
  const std::int64_t features = elements(node.layer->in);
  const DropoutMask mask(probability, node.layer->number, features);
  const std::int64_t channels = desc.images() && places_of(desc.dims) > 1 ? desc.dims[1] : 1;
  const DropoutShape shape{b.samples(), channels, features / channels};
  const TensorId y = b.may_overwrite(x) ? x : b.like(x);
  const auto add = [=, &b](Builder::Pass pass, TensorId from, TensorId to) {
    const Type type = b.desc(to).type;
    b.kernel(pass, {from, to}, [=](const Frame& frame) {
      dropout(frame.stream, type, shape, mask, scale, frame.key, frame.as<void>(from),
              frame.as<void>(to));
    });
  };
  add(Builder::Pass::training, x, y);
  if (x != y)
    b.kernel(Builder::Pass::evaluation, {x, y}, [=](const Frame& frame) {
      frame.stream.copy(frame.as<void>(y), frame.as<void>(x), desc.bytes());
    });

  b.on_backward([=, &b](TensorId dy) {
    const TensorId dx = b.writable(dy);
    add(Builder::Pass::backward, dx, dx);
    return dx;
  });
  return y;
}

}  // namespace thalweg::engine::cuda
