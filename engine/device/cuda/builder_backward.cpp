// The part of the builder that goes backward: the loss, and what is done with gradients.
#include <algorithm>
#include <utility>

#include "engine/device/cuda/builder.h"
#include "engine/device/cuda/layout.h"

namespace thalweg::engine::cuda {

TensorId Builder::copy_of(TensorId dy) {
  const TensorId copy = like(dy);
  const std::size_t bytes = desc(dy).bytes();
  kernel(Pass::backward, {dy, copy}, [=](const Frame& frame) {
    frame.stream.copy(frame.as<void>(copy), frame.as<void>(dy), bytes);
  });
  return copy;
}

void Builder::add_in_place(TensorId a, TensorId b) {
  const Desc into = desc(a), from = desc(b);
  kernel(Pass::backward, {b, a}, [=](const Frame& frame) {
    accumulate(frame.stream, into.count(), from.type, frame.as<void>(b), into.type,
               frame.as<void>(a));
  });
}

TensorId Builder::in_shape_of(TensorId dx, TensorId y) {
  if (desc(dx).dims == desc(y).dims) return dx;
  return view(dx, {desc(y).dims, desc(dx).type});
}

TensorId Builder::as_gradient(const Node& node, TensorId dy, TensorId y) {
  const bool narrow = node.layer->kind->multiplies;  // it rounds its gradient itself
  return narrow ? dy : in_type(Pass::backward, dy, desc(y).type);
}

TensorId Builder::add_loss(TensorId x) {
  const LossPlan& loss = graph_.loss;
  const auto bytes_as_floats = [](std::int64_t n) { return Desc{{n}, Type::f32}; };
  labels_ = place(Home::labels, 0, bytes_as_floats(samples() * loss.data.labels));
  targets_ = place(Home::targets, 0, bytes_as_floats(samples() * loss.data.targets));
  labels_b_ = place(Home::labels_b, 0, bytes_as_floats(samples() * loss.data.labels));
  shares_b_ = place(Home::shares_b, 0, bytes_as_floats(samples()));
  result_ = place(Home::result, 0, bytes_as_floats(2 * (1 + max_sums)));
  return loss.kind->cuda(*this, in_type(Pass::both, x, logits_type()));
}

TensorId Builder::loss_gradient(TensorId output) {
  // Losses read a logit before they write its gradient.
  return may_overwrite(output) ? view(output, desc(output)) : like(output);
}

TensorId Builder::narrow_loss_gradient(TensorId output) {
  const bool rounds = nodes_.back().layer->kind->multiplies;
  return rounds && type_ != desc(output).type ? activation(desc(output).dims, type_)
                                              : loss_gradient(output);
}

}  // namespace thalweg::engine::cuda
