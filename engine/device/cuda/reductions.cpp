#include "engine/device/cuda/reductions.h"

#include "engine/device/cuda/columns.h"

namespace thalweg::engine::cuda {
namespace {

template <class T>
struct Put {
  T* out;  ///< (outer, columns)
  std::int64_t columns;
  float times;
  THALWEG_HOST_DEVICE void operator()(std::int64_t outer, std::int64_t column,
                                      const float* sums) const {
    out[outer * columns + column] = gpu::store<T>(times * sums[0]);
  }
};

struct Masked {
  THALWEG_HOST_DEVICE float operator()(float y, float dy) const { return y > 0 ? dy : 0; }
};

}  // namespace

void sum_columns(gpu::Stream& stream, const Columns& shape, gpu::Type type, const void* x,
                 float times, float* parts, gpu::Type result, void* out) {
  gpu::with_type(type, [&](auto t) {
    gpu::with_type(result, [&](auto r) {
      using R = decltype(r);
      reduce_columns(stream, shape, PlainSum(), Put<R>{static_cast<R*>(out), shape.columns, times},
                     parts, static_cast<const decltype(t)*>(x));
    });
  });
}

void sum_columns(Builder& b, Builder::Pass pass, TensorId x, const Columns& shape, float times,
                 TensorId out) {
  const Type type = b.desc(x).type, result = b.desc(out).type;
  const TensorId parts = b.scratch(column_parts(shape, 1), sizeof(float));
  b.kernel(pass, {x, parts, out}, [=](const Frame& frame) {
    sum_columns(frame.stream, shape, type, frame.as<void>(x), times, frame.floats(parts), result,
                frame.as<void>(out));
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

TensorId relu_gradient(Builder& b, TensorId y, TensorId dy) {
  const TensorId dx = b.writable(dy);
  const Type of_y = b.desc(y).type, type = b.desc(dx).type;
  const std::int64_t count = b.desc(dx).count();
  b.kernel(Builder::Pass::backward, {y, dx}, [=](const Frame& frame) {
    gpu::with_type(of_y, [&](auto a) {
      gpu::with_type(type, [&](auto d) {
        auto* gradient = frame.as<decltype(d)>(dx);
        gpu::map(frame.stream, count, Masked{}, gradient,
                 static_cast<const decltype(a)*>(frame.as<decltype(a)>(y)),
                 static_cast<const decltype(d)*>(gradient));
      });
    });
  });
  return dx;
}

}  // namespace thalweg::engine::cuda
