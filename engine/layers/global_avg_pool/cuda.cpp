// global_avg_pool: sums over the places of every sample.
#include "engine/device/cuda/builder.h"
#include "engine/device/cuda/columns.h"
#include "engine/device/cuda/layout.h"
#include "engine/device/cuda/reductions.h"

namespace thalweg::engine::cuda {
namespace {

template <class T>
struct ShareOfMean {
  template <int width>
  using Constants = gpu::Pack<float, width>;
  const T* dy;
  std::int64_t columns, places;
  template <int width>
  THALWEG_HOST_DEVICE Constants<width> at(std::int64_t sample, std::int64_t column) const {
    const auto from = *reinterpret_cast<const gpu::Pack<T, width>*>(dy + sample * columns + column);
    Constants<width> shares;
    for (int k = 0; k < width; ++k)
      shares.at[k] = gpu::load(from.at[k]) / static_cast<float>(places);
    return shares;
  }
  template <int width>
  THALWEG_HOST_DEVICE float value(const Constants<width>& shares, int k) const {
    return shares.at[k];
  }
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
        map_columns(frame.stream, shape, ShareOfMean<T>{frame.as<T>(dy), shape.columns, shape.rows},
                    frame.as<T>(dx));
      });
    });
    return outside ? b.in_plain_order(Builder::Pass::backward, dx) : dx;
  });
  return b.in_type(Builder::Pass::both, y, b.output_type());
}

}  // namespace thalweg::engine::cuda
