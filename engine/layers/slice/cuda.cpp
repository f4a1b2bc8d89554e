// slice and pad: a block for each position of the result.
#include "engine/device/cuda/builder.h"
#include "engine/device/cuda/rows.h"
#include "engine/gpu/loops.h"
#include "engine/layers/slice/options.h"

namespace thalweg::engine::cuda {
namespace {

/// Position p of a sample's `out` positions is position p + shift of its `in`, or zeros where there
/// is none.
struct Shift {
  std::int64_t in, out, shift;
  Shift back() const { return {out, in, -shift}; }
};

template <class T>
struct Move {
  const T* x;
  T* y;
  Shift at;
  std::int64_t features;
  THALWEG_HOST_DEVICE void operator()(gpu::ThreadBlock block, std::int64_t row) const {
    const std::int64_t n = row / at.out, position = row % at.out + at.shift;
    const bool is_there = position >= 0 && position < at.in;
    const T* from = x + (n * at.in + position) * features;
    for (std::int64_t i = block.rank(); i < features; i += block.size())
      y[row * features + i] = is_there ? from[i] : T{};
  }
};

TensorId move_positions(Builder& b, const Node& node, TensorId x, std::int64_t shift) {
  const std::int64_t samples = b.samples(), features = node.layer->in[1];
  const Type type = b.desc(x).type;
  const auto add = [=, &b](Builder::Pass pass, const Shift& at, TensorId from) {
    const TensorId to = b.activation({samples, at.out, features}, type);
    b.kernel(pass, {from, to}, [=](const Frame& frame) {
      gpu::with_type(type, [&](auto t) {
        using T = decltype(t);
        gpu::for_each_row(frame.stream, samples * at.out, team_for(features),
                          Move<T>{frame.as<T>(from), frame.as<T>(to), at, features});
      });
    });
    return to;
  };
  const Shift at{node.layer->in[0], node.layer->out[0], shift};
  b.on_backward([=](TensorId dy) { return add(Builder::Pass::backward, at.back(), dy); });
  return add(Builder::Pass::both, at, x);
}

}  // namespace

TensorId slice(Builder& b, const Node& node, TensorId x) {
  return move_positions(b, node, x, node.layer->options_as<SliceOptions>().first);
}

TensorId pad(Builder& b, const Node& node, TensorId x) {
  return move_positions(b, node, x, -node.layer->options_as<PadOptions>().before);
}

}  // namespace thalweg::engine::cuda
