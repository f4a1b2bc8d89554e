#include "engine/gpu/library_loops.h"

#include "engine/gpu/loops.h"

namespace thalweg::engine::gpu {
namespace {

template <class From, class To>
struct Convert {
  const From* from;
  To* to;
  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const { to[i] = store<To>(load(from[i])); }
};

template <class T>
struct AddBias {
  std::int64_t n, row;
  T* y;
  const T* bias;
  bool relu;
  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const {
    T& at = y[i / n * row + i % n];
    float value = load(at);
    if (bias != nullptr) value += load(bias[i % n]);
    if (relu && value < 0) value = 0;
    at = store<T>(value);
  }
};

/// Neighbouring threads write neighbours; each takes `width` inputs, which are contiguous where
/// they are read.
template <class T>
struct TurnWeights {
  std::int64_t outputs, places, inputs, width;
  const T* from;
  T* to;
  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t output = i % outputs, place = i / outputs % places;
    const std::int64_t first = i / outputs / places * width;
    for (std::int64_t input = first; input < first + width; ++input)
      to[(input * places + place) * outputs + output] =
          from[(output * places + places - 1 - place) * inputs + input];
  }
};

}  // namespace

void narrow(Stream& stream, std::int64_t n, const float* from, Bf16* to) {
  for_each(stream, n, Convert<float, Bf16>{from, to});
}
void widen(Stream& stream, std::int64_t n, const Bf16* from, float* to) {
  for_each(stream, n, Convert<Bf16, float>{from, to});
}
void turn_weights(Stream& stream, Type type, const std::array<std::int64_t, 3>& sizes,
                  const void* from, void* to) {
  const std::int64_t width = sizes[2] % 8 == 0 ? 8 : 1;
  const std::int64_t count = sizes[0] * sizes[1] * sizes[2] / width;
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    for_each(stream, count,
             TurnWeights<T>{sizes[0], sizes[1], sizes[2], width, static_cast<const T*>(from),
                            static_cast<T*>(to)});
  });
}
void add_bias(Stream& stream, Type type, std::int64_t rows, std::int64_t n, std::int64_t row,
              void* y, const void* bias, bool relu) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    for_each(stream, rows * n,
             AddBias<T>{n, row, static_cast<T*>(y), static_cast<const T*>(bias), relu});
  });
}

}  // namespace thalweg::engine::gpu
