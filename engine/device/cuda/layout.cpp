#include "engine/device/cuda/layout.h"

#include <numeric>

#include "engine/gpu/loops.h"

namespace thalweg::engine::cuda {
namespace {

struct Same {
  THALWEG_HOST_DEVICE float operator()(float x) const { return x; }
};
struct Sum {
  THALWEG_HOST_DEVICE float operator()(float a, float b) const { return a + b; }
};

// Neighbouring threads write neighbours; what they read lies within few lines of cache.
template <class X, class Y>
struct Transpose {
  const X* x;
  Y* y;
  std::int64_t rows, columns;
  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t row = i % rows, column = i / rows % columns, n = i / rows / columns;
    y[i] = gpu::store<Y>(gpu::load(x[(n * rows + row) * columns + column]));
  }
};

/// work(X{}, Y{}) with the C++ types.
template <class Work>
void with_types(gpu::Type from, gpu::Type to, const Work& work) {
  gpu::with_type(from, [&](auto x) { gpu::with_type(to, [&](auto y) { work(x, y); }); });
}

}  // namespace

void transpose(gpu::Queue& queue, std::int64_t n, std::int64_t rows, std::int64_t columns,
               gpu::Type from, const void* x, gpu::Type to, void* y) {
  with_types(from, to, [&](auto a, auto b) {
    using X = decltype(a);
    using Y = decltype(b);
    gpu::for_each(queue, n * rows * columns,
                  Transpose<X, Y>{static_cast<const X*>(x), static_cast<Y*>(y), rows, columns});
  });
}

void convert(gpu::Queue& queue, std::int64_t count, gpu::Type from, const void* x, gpu::Type to,
             void* y) {
  with_types(from, to, [&](auto a, auto b) {
    gpu::map(queue, count, Same{}, static_cast<decltype(b)*>(y),
             static_cast<const decltype(a)*>(x));
  });
}

void accumulate(gpu::Queue& queue, std::int64_t count, gpu::Type from, const void* x, gpu::Type to,
                void* into) {
  with_types(from, to, [&](auto a, auto b) {
    auto* y = static_cast<decltype(b)*>(into);
    gpu::map(queue, count, Sum{}, y, static_cast<const decltype(b)*>(y),
             static_cast<const decltype(a)*>(x));
  });
}

std::vector<std::int32_t> channels_last_order(std::int64_t outer, std::int64_t c,
                                              std::int64_t places) {
  std::vector<std::int32_t> order;
  order.reserve(static_cast<std::size_t>(outer * c * places));
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t p = 0; p < places; ++p)
      for (std::int64_t k = 0; k < c; ++k)
        order.push_back(static_cast<std::int32_t>((o * c + k) * places + p));
  return order;
}

std::uint32_t alignment_of(std::initializer_list<std::int64_t> bytes) {
  std::int64_t alignment = 16;
  for (const std::int64_t at : bytes)
    alignment = std::gcd(alignment, at);
  return static_cast<std::uint32_t>(alignment);
}

std::int64_t places_of(const Shape& dims) {
  std::int64_t places = 1;
  for (std::size_t i = 2; i < dims.size(); ++i)
    places *= dims[i];
  return places;
}

}  // namespace thalweg::engine::cuda
