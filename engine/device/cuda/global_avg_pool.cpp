// global_avg_pool: sums over the places of every sample.
#include "engine/device/cuda/builder.h"
#include "engine/device/cuda/columns.h"
#include "engine/device/cuda/layer.h"
#include "engine/device/cuda/layout.h"
#include "engine/device/cuda/reductions.h"

namespace thalweg::engine::cuda {
namespace {

template <class T>
struct Share {
  using Constants = float;
  const T* dy;
  std::int64_t columns, places;
  THALWEG_HOST_DEVICE float at(std::int64_t sample, std::int64_t column) const {
    return gpu::load(dy[sample * columns + column]) / static_cast<float>(places);
  }
  THALWEG_HOST_DEVICE float operator()(float share) const { return share; }
};

}  // namespace

TensorId global_avg_pool(Builder& b, const Node&, TensorId input) {
  const Shape dims = b.desc(input).dims;
  // Of (positions, features) the positions are the channels.
  const bool outside = dims.size() == 3;
  const Shape inside = outside ? Shape{dims[0], dims[1], dims[2], 1} : dims;
  TensorId x = b.in_type(Builder::Pass::both, input, b.type());
  if (outside) x = b.in_channels_last(Builder::Pass::both, x, inside);
  const Columns shape{dims[0], places_of(dims), dims[1]};
  const Type type = b.type();
  const TensorId y = b.activation({dims[0], dims[1]}, type);
  sum_columns(b, Builder::Pass::both, x, shape, 1 / static_cast<float>(shape.rows), y);

  b.on_backward([=, &b](TensorId given) {
    const TensorId dy = b.in_type(Builder::Pass::backward, given, type);
    const TensorId dx = b.activation(inside, type);
    b.kernel(Builder::Pass::backward, {dy, dx}, [=](const Frame& frame) {
      gpu::with_type(type, [&](auto t) {
        using T = decltype(t);
        map_columns(frame.queue, shape, Share<T>{frame.as<T>(dy), shape.columns, shape.rows},
                    frame.as<T>(dx));
      });
    });
    return outside ? b.in_plain_order(Builder::Pass::backward, dx) : dx;
  });
  return b.in_type(Builder::Pass::both, y, b.output_type());
}

}  // namespace thalweg::engine::cuda
