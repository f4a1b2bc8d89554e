#include "engine/device/cuda/reductions.h"

#include "engine/gpu/loops.h"

namespace thalweg::engine::cuda {
namespace {

struct Sum {
  static constexpr int sums = 1;
  struct Constants {};
  THALWEG_HOST_DEVICE Constants at(std::int64_t, std::int64_t, std::int64_t) const { return {}; }
  THALWEG_HOST_DEVICE float add(const Constants&, float* into, float x) const {
    return into[0] += x;
  }
  THALWEG_HOST_DEVICE void end(const Constants&, float*, std::int64_t) const {}
};

template <class T>
struct Join {
  const float* slices;  ///< (outer, count of slices, columns)
  std::int64_t count, columns;
  float times;
  T* out;
  template <class Team>
  THALWEG_HOST_DEVICE void operator()(Team team, std::int64_t i) const {
    float sum = 0;
    for (std::int64_t s = team.rank(); s < count; s += team.size())
      sum += slices[(i / columns * count + s) * columns + i % columns];
    sum = team.sum(sum);
    if (team.rank() == 0) out[i] = gpu::store<T>(times * sum);
  }
};

struct Masked {
  THALWEG_HOST_DEVICE float operator()(float y, float dy) const { return y > 0 ? dy : 0; }
};

}  // namespace

void sum_columns(Builder& b, Builder::Pass pass, TensorId x, const Columns& shape, float times,
                 TensorId out) {
  const Type type = b.desc(x).type, result = b.desc(out).type;
  const std::int64_t slices = slices_of(shape), all = shape.outer * shape.columns;
  const TensorId parts = b.scratch(slices * all, sizeof(float));
  b.kernel(pass, {x, parts, out}, [=](const Frame& frame) {
    gpu::with_type(type, [&](auto t) {
      using T = decltype(t);
      sum_slices(frame.queue, shape, Sum(), frame.floats(parts),
                 static_cast<const T*>(frame.as<T>(x)));
    });
    gpu::with_type(result, [&](auto t) {
      using T = decltype(t);
      for_each_sum(frame.queue, all, slices,
                   Join<T>{frame.floats(parts), slices, shape.columns, times, frame.as<T>(out)});
    });
  });
}

void sum_rows(Builder& b, TensorId x, std::int64_t rows, std::int64_t columns, TensorId out) {
  sum_columns(b, Builder::Pass::backward, x, {1, rows, columns}, 1, out);
}

void multiply_and_sum(Builder& b, gpu::Product product, TensorId dy, TensorId from, TensorId c,
                      TensorId sums) {
  product.sums_of_a = true;
  std::shared_ptr<gpu::Call> both = b.library().product(product);
  if (both != nullptr) return b.call(Builder::Pass::backward, both, {dy, from, c, -1, -1, sums});
  product.sums_of_a = false;
  b.call(Builder::Pass::backward, b.library().product(product), {dy, from, c});
  sum_rows(b, dy, product.k, product.m, sums);
}

TensorId relu_slope(Builder& b, TensorId y, TensorId dy) {
  const TensorId dx = b.writable(dy);
  const Type of_y = b.desc(y).type, type = b.desc(dx).type;
  const std::int64_t count = b.desc(dx).count();
  b.kernel(Builder::Pass::backward, {y, dx}, [=](const Frame& frame) {
    gpu::with_type(of_y, [&](auto a) {
      gpu::with_type(type, [&](auto d) {
        auto* slope = frame.as<decltype(d)>(dx);
        gpu::map(frame.queue, count, Masked{}, slope,
                 static_cast<const decltype(a)*>(frame.as<decltype(a)>(y)),
                 static_cast<const decltype(d)*>(slope));
      });
    });
  });
  return dx;
}

}  // namespace thalweg::engine::cuda
