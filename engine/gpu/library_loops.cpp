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

}  // namespace

void narrow(Queue& queue, std::int64_t n, const float* from, Bf16* to) {
  for_each(queue, n, Convert<float, Bf16>{from, to});
}
void widen(Queue& queue, std::int64_t n, const Bf16* from, float* to) {
  for_each(queue, n, Convert<Bf16, float>{from, to});
}
void add_bias(Queue& queue, Type type, std::int64_t rows, std::int64_t n, std::int64_t row, void* y,
              const void* bias, bool relu) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    for_each(queue, rows * n,
             AddBias<T>{n, row, static_cast<T*>(y), static_cast<const T*>(bias), relu});
  });
}

}  // namespace thalweg::engine::gpu
