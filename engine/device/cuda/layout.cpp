// Transposition, conversion, and what follows from where channels lie.
#include "engine/device/cuda/layout.h"

#include <algorithm>
#include <numeric>

#include "engine/gpu/divisor.h"
#include "engine/gpu/loops.h"
#if defined(__CUDACC__)
#include "engine/device/cuda/transpose_native.h"
#endif

namespace thalweg::engine::cuda {
namespace {

using gpu::Divisor;

struct Same {
  THALWEG_HOST_DEVICE float operator()(float x) const { return x; }
};
struct Sum {
  THALWEG_HOST_DEVICE float operator()(float a, float b) const { return a + b; }
};

/// Rows or columns that a thread may hold.
constexpr int few_of_them = 8;

/// Of a tensor with few rows, as images of few channels have: a thread takes a column, which its
/// neighbours read beside it, and writes it contiguously. Of one with few columns: the way back.
template <class X, class Y, bool few_rows>
struct Few {
  const X* x;
  Y* y;
  std::int64_t few;
  Divisor many;
  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const {
    auto at = static_cast<std::uint32_t>(i);
    const std::int64_t n = many.split(at), apart = many.by();
    const X* const from = x + (few_rows ? n * few * apart + at : i * few);
    Y* const to = y + (few_rows ? i * few : n * few * apart + at);
    X values[few_of_them] = {};
    for (int k = 0; k < few_of_them; ++k)
      if (k < few) values[k] = from[few_rows ? k * apart : k];
    for (int k = 0; k < few_of_them; ++k)
      if (k < few) to[few_rows ? k : k * apart] = gpu::store<Y>(gpu::load(values[k]));
  }
};
/// Of any other, on the host.
template <class X, class Y>
struct Transpose {
  const X* x;
  Y* y;
  std::int64_t rows, columns;
  void operator()(std::int64_t i) const {
    const std::int64_t row = i % rows, column = i / rows % columns, n = i / rows / columns;
    y[i] = gpu::store<Y>(gpu::load(x[(n * rows + row) * columns + column]));
  }
};

template <class X, class Y>
void transpose_as(gpu::Stream& stream, std::int64_t n, std::int64_t rows, std::int64_t columns,
                  const X* x, Y* y) {
  constexpr std::int64_t most = std::int64_t{1} << 31;
  if (rows <= few_of_them && n * columns < most)
    return gpu::for_each(stream, n * columns,
                         Few<X, Y, true>{x, y, rows, Divisor(static_cast<std::uint32_t>(columns))});
  if (columns <= few_of_them && n * rows < most)
    return gpu::for_each(
        stream, n * rows,
        Few<X, Y, false>{x, y, columns, Divisor(static_cast<std::uint32_t>(rows))});
  if (stream.emulated())
    return stream.on_host([=] {
      const Transpose<X, Y> each{x, y, rows, columns};
      for (std::int64_t i = 0; i < n * rows * columns; ++i)
        each(i);
    });
#if defined(__CUDACC__)
  const auto upto = [](std::int64_t count) {
    return static_cast<unsigned>(std::min<std::int64_t>(count, 65535));
  };
  gpu::launch(stream, transpose_tiles<X, Y>,
              dim3(static_cast<unsigned>((columns + 31) / 32), upto((rows + 31) / 32), upto(n)),
              dim3(32, 8), x, y, n, rows, columns);
#endif
}

/// work(X{}, Y{}) with the C++ types.
template <class Work>
void with_types(gpu::Type from, gpu::Type to, const Work& work) {
  gpu::with_type(from, [&](auto x) { gpu::with_type(to, [&](auto y) { work(x, y); }); });
}

}  // namespace

void transpose(gpu::Stream& stream, std::int64_t n, std::int64_t rows, std::int64_t columns,
               gpu::Type from, const void* x, gpu::Type to, void* y) {
  if (n * rows * columns <= 0) return;
  with_types(from, to, [&](auto a, auto b) {
    using X = decltype(a);
    using Y = decltype(b);
    transpose_as(stream, n, rows, columns, static_cast<const X*>(x), static_cast<Y*>(y));
  });
}

void convert(gpu::Stream& stream, std::int64_t count, gpu::Type from, const void* x, gpu::Type to,
             void* y) {
  with_types(from, to, [&](auto a, auto b) {
    gpu::map(stream, count, Same{}, static_cast<decltype(b)*>(y),
             static_cast<const decltype(a)*>(x));
  });
}

void accumulate(gpu::Stream& stream, std::int64_t count, gpu::Type from, const void* x,
                gpu::Type to, void* into) {
  with_types(from, to, [&](auto a, auto b) {
    auto* y = static_cast<decltype(b)*>(into);
    gpu::map(stream, count, Sum{}, y, static_cast<const decltype(b)*>(y),
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
