#include "engine/device/cuda/reductions.h"

#include <algorithm>

#include "engine/gpu/loops.h"

namespace thalweg::engine::cuda {
namespace {

// Neighbouring threads add neighbouring columns; rows are cut into slices, whose sums are added by
// a second pass.
template <class T>
struct Slices {
  const T* x;
  float* sums;  ///< (slices, columns)
  std::int64_t rows, columns, slice;
  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t column = i % columns, first = i / columns * slice;
    const std::int64_t end = first + slice < rows ? first + slice : rows;
    float sum = 0;
    for (std::int64_t row = first; row < end; ++row)
      sum += gpu::load(x[row * columns + column]);
    sums[i] = sum;
  }
};

struct Masked {
  THALWEG_HOST_DEVICE float operator()(float y, float dy) const { return y > 0 ? dy : 0; }
};

void add_slices(gpu::Queue& queue, Type type, const void* x, std::int64_t rows,
                std::int64_t columns, std::int64_t slice, float* sums) {
  const std::int64_t slices = (rows + slice - 1) / slice;
  gpu::with_type(type, [&](auto t) {
    using T = decltype(t);
    gpu::for_each(queue, slices * columns,
                  Slices<T>{static_cast<const T*>(x), sums, rows, columns, slice});
  });
}

}  // namespace

void sum_rows(Builder& b, TensorId x, std::int64_t rows, std::int64_t columns, TensorId out) {
  const Type type = b.desc(x).type;
  // Enough threads to fill a GPU, and slices long enough to be worth one.
  constexpr std::int64_t enough = 1 << 18, shortest = 32;
  const std::int64_t wanted = std::max<std::int64_t>(1, enough / columns);
  const std::int64_t slice = std::max(shortest, (rows + wanted - 1) / wanted);
  const std::int64_t slices = (rows + slice - 1) / slice;
  if (slices == 1) {
    b.kernel(Builder::Pass::backward, {x, out}, [=](const Frame& frame) {
      add_slices(frame.queue, type, frame.as<void>(x), rows, columns, slice, frame.floats(out));
    });
    return;
  }
  const TensorId sums = b.scratch(slices * columns, sizeof(float));
  b.kernel(Builder::Pass::backward, {x, sums, out}, [=](const Frame& frame) {
    add_slices(frame.queue, type, frame.as<void>(x), rows, columns, slice, frame.floats(sums));
    add_slices(frame.queue, Type::f32, frame.as<void>(sums), slices, columns, slices,
               frame.floats(out));
  });
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
