// The part of the builder that goes backward: the loss, where gradients lie, who adds them up, what
// is computed again.
#include <algorithm>
#include <utility>

#include "engine/device/cuda/builder.h"
#include "engine/device/cuda/layout.h"

namespace thalweg::engine::cuda {

bool Builder::wants_input_gradient(std::size_t k) const {
  return value(nodes_[current_].from[k]).wants_gradient;
}

TensorId Builder::copy_of(TensorId dy) {
  const TensorId copy = like(dy);
  const std::size_t bytes = desc(dy).bytes();
  kernel(Pass::backward, {dy, copy}, [=](const Frame& frame) {
    frame.queue.copy(frame.as<void>(copy), frame.as<void>(dy), bytes);
  });
  return copy;
}

TensorId Builder::writable(TensorId dy) {
  const bool shared = std::any_of(values_.begin(), values_.end(), [&](const Value& v) {
    return (v.gradient >= 0 && same_memory(v.gradient, dy)) ||
           (v.second >= 0 && same_memory(v.second, dy));
  });
  if (shared) return copy_of(dy);
  std::erase_if(sums_, [&](const auto& pair) {
    return same_memory(pair.first, dy) || same_memory(pair.second, dy);
  });
  return dy;
}

TensorId Builder::with_same_sums(TensorId x) const {
  const auto found = sums_.find(x);
  return found == sums_.end() ? x : found->second;
}

// The same operations on the same numbers: what they write has the same bits.
void Builder::compute_again(int segment) {
  for (std::size_t i = 0; i < plan_.forward.size(); ++i) {
    if (forward_segments_[i] != segment) continue;
    ++clock_;
    for (const TensorId id : plan_.forward[i].tensors)
      use(id, clock_);
    plan_.backward.push_back(plan_.forward[i]);
    ++plan_.recomputed;
  }
}

void Builder::on_backward(Backward backward) {
  on_backward_to_all([backward = std::move(backward)](TensorId dy) {
    return std::vector<TensorId>{backward(dy)};
  });
}

void Builder::on_backward_to_all(BackwardToAll backward) {
  backward_[current_] = std::move(backward);
}

void Builder::ready(int number) {
  plan_.backward.back().ready.push_back(number);
}

TensorId Builder::take_gradient(const Desc& wanted, std::size_t k) {
  TensorId& gradient = value(nodes_[current_].from[k]).gradient;
  return gradient >= 0 && desc(gradient) == wanted ? std::exchange(gradient, -1) : -1;
}

void Builder::add_gradient(Value& to, TensorId dx) {
  if (!to.wants_gradient) return;
  if (desc(dx).dims != desc(to.tensor).dims) dx = view(dx, {desc(to.tensor).dims, desc(dx).type});
  if (to.gradient < 0) {
    to.gradient = dx;
    return;
  }
  if (to.takes_two && to.second < 0 && !same_memory(to.gradient, dx)) {
    to.second = dx;
    return;
  }
  const TensorId before = std::exchange(to.gradient, -1);
  const TensorId sum = root(before) == root(dx) ? copy_of(before) : writable(before);
  to.gradient = sum;
  const Desc a = desc(sum), b = desc(dx);
  kernel(Pass::backward, {dx, sum}, [=](const Frame& frame) {
    accumulate(frame.queue, a.count(), b.type, frame.as<void>(dx), a.type, frame.as<void>(sum));
  });
}

void Builder::add_backward(const Node& node) {
  Value& y = value(node.value);
  if (!y.wants_gradient) return;
  second_gradient_ = std::exchange(y.second, -1);
  const bool narrow = node.layer->kind->multiplies;  // it rounds its gradient itself
  const TensorId gradient = std::exchange(y.gradient, -1);
  const TensorId dy = narrow ? gradient : in_type(Pass::backward, gradient, desc(y.tensor).type);
  const BackwardToAll& backward = backward_[current_];
  const std::vector<TensorId> dx = backward ? backward(dy) : std::vector<TensorId>{dy};
  for (std::size_t k = 0; k < dx.size(); ++k)
    add_gradient(value(node.from[k]), dx[k]);
}

void Builder::add_loss() {
  const LossPlan& loss = graph_.loss;
  const auto bytes_as_floats = [](std::int64_t n) { return Desc{{n}, Type::f32}; };
  labels_ = place(Home::labels, 0, bytes_as_floats(samples() * loss.data.labels));
  targets_ = place(Home::targets, 0, bytes_as_floats(samples() * loss.data.targets));
  partner_labels_ = place(Home::partner_labels, 0, bytes_as_floats(samples() * loss.data.labels));
  partner_shares_ = place(Home::partner_shares, 0, bytes_as_floats(samples()));
  result_ = place(Home::result, 0, bytes_as_floats(2 * (1 + most_sums)));
  const TensorId output = in_type(Pass::both, values_.back().tensor, logits_type());
  values_.back().gradient = loss.kind->cuda(*this, output);
}

TensorId Builder::loss_gradient(TensorId output) {
  // Losses read a logit before they write its gradient.
  return may_overwrite(output) ? view(output, desc(output)) : like(output);
}

TensorId Builder::narrow_loss_gradient(TensorId output) {
  const auto last = std::find_if(nodes_.begin(), nodes_.end(), [&](const Node& node) {
    return static_cast<std::size_t>(node.value) + 1 == values_.size();
  });
  const bool rounds = last != nodes_.end() && last->layer->kind->multiplies;
  return rounds && type_ != desc(output).type ? activation(desc(output).dims, type_)
                                              : loss_gradient(output);
}

}  // namespace thalweg::engine::cuda
