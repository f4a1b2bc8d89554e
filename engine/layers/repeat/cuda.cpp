// repeat: a row is copied to each position, a block each; their gradients are added by a thread for
// each feature.
#include "engine/device/cuda/builder.h"
#include "engine/device/cuda/rows.h"
#include "engine/gpu/loops.h"

namespace thalweg::engine::cuda {
namespace {

template <class T>
struct Repeat {
  const T* x;
  T* y;
  std::int64_t positions, features;
  THALWEG_HOST_DEVICE void operator()(gpu::ThreadBlock block, std::int64_t row) const {
    const T* from = x + row / positions * features;
    for (std::int64_t i = block.rank(); i < features; i += block.size())
      y[row * features + i] = from[i];
  }
};

template <class T>
struct SumOfPositions {
  const T* dy;
  T* dx;
  std::int64_t positions, features;
  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const {
    const T* from = dy + i / features * positions * features + i % features;
    float sum = 0;
    for (std::int64_t p = 0; p < positions; ++p)
      sum += gpu::load(from[p * features]);
    dx[i] = gpu::store<T>(sum);
  }
};

}  // namespace

TensorId repeat(Builder& b, const Node& node, TensorId x) {
  const std::int64_t samples = b.samples(), positions = node.layer->out[0],
                     features = node.layer->out[1];
  const Type type = b.desc(x).type;
  const TensorId y = b.activation({samples, positions, features}, type);
  b.kernel(Builder::Pass::both, {x, y}, [=](const Frame& frame) {
    gpu::with_type(type, [&](auto t) {
      using T = decltype(t);
      gpu::for_each_row(frame.stream, samples * positions, team_for(features),
                        Repeat<T>{frame.as<T>(x), frame.as<T>(y), positions, features});
    });
  });
  b.on_backward([=, &b](TensorId dy) {
    const TensorId dx = b.activation({samples, features}, type);
    b.kernel(Builder::Pass::backward, {dy, dx}, [=](const Frame& frame) {
      gpu::with_type(type, [&](auto t) {
        using T = decltype(t);
        gpu::for_each(frame.stream, samples * features,
                      SumOfPositions<T>{frame.as<T>(dy), frame.as<T>(dx), positions, features});
      });
    });
    return dx;
  });
  return y;
}

}  // namespace thalweg::engine::cuda
