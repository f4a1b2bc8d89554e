// global_avg_pool: sums over the places of every sample.
#include "engine/device/cuda/builder.h"
#include "engine/device/cuda/columns.h"
#include "engine/device/cuda/layer.h"
#include "engine/device/cuda/layout.h"

namespace thalweg::engine::cuda {
namespace {

struct Sum {
  static constexpr int sums = 1;
  struct Constants {};
  THALWEG_HOST_DEVICE Constants at(std::int64_t, std::int64_t, std::int64_t) const { return {}; }
  THALWEG_HOST_DEVICE void add(const Constants&, float* sums, float x) const { sums[0] += x; }
  THALWEG_HOST_DEVICE void end(const Constants&, float*, std::int64_t) const {}
};

template <class T>
struct JoinMean {
  const float* slices;  ///< (samples, count, columns)
  std::int64_t count, columns, places;
  T* y;
  template <class Team>
  THALWEG_HOST_DEVICE void operator()(Team team, std::int64_t i) const {
    float sum = 0;
    for (std::int64_t s = team.rank(); s < count; s += team.size())
      sum += slices[(i / columns * count + s) * columns + i % columns];
    sum = team.sum(sum);
    if (team.rank() == 0) y[i] = gpu::store<T>(sum / static_cast<float>(places));
  }
};

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
  const std::int64_t slices = slices_of(shape), means = shape.outer * shape.columns;
  const Type type = b.type();
  const TensorId parts = b.scratch(slices * means, sizeof(float));
  const TensorId y = b.activation({dims[0], dims[1]}, type);
  b.kernel(Builder::Pass::both, {x, parts, y}, [=](const Frame& frame) {
    gpu::with_type(type, [&](auto t) {
      using T = decltype(t);
      sum_slices(frame.queue, shape, Sum(), frame.floats(parts),
                 static_cast<const T*>(frame.as<T>(x)));
      for_each_sum(
          frame.queue, means, slices,
          JoinMean<T>{frame.floats(parts), slices, shape.columns, shape.rows, frame.as<T>(y)});
    });
  });

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
