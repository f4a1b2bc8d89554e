#include "engine/layers/pool/cpu_max.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "engine/device/cpu/avx512.h"

namespace thalweg::engine::cpu {
namespace {

constexpr std::int64_t block = 16;
/// The place where relu lets no gradient through; places of a window are smaller.
constexpr int nowhere = 255;

}  // namespace

bool serves_max_pool(const Window& w) {
  if (!has_avx512() || Window::volume(w.kernel) > nowhere) return false;
  for (std::size_t d = 0; d < 3; ++d)
    if (w.stride[d] != w.kernel[d] || w.padding[d] != 0) return false;
  return true;
}

#if THALWEG_HAS_AVX512_CODE
namespace {

/// Of a value that was a T.
THALWEG_AVX512_INLINE void put(Vector value, float* to) {
  store(to, value);
}
THALWEG_AVX512_INLINE void put(Vector value, Bf16* to) {
  store_upper(to, value);
}

/// Distances of a window's inputs from its first, in row order.
using Taps = std::array<std::int64_t, nowhere>;

Taps taps_of(const MaxPool& p) {
  const Window& w = p.window;
  Taps taps{};
  std::size_t number = 0;
  for (std::int64_t d = 0; d < w.kernel[0]; ++d)
    for (std::int64_t h = 0; h < w.kernel[1]; ++h)
      for (std::int64_t i = 0; i < w.kernel[2]; ++i)
        taps[number++] = ((d * w.in[1] + h) * w.in[2] + i) * p.pixel;
  return taps;
}

/// Calls f(first input of the window, output), in the order of outputs.
template <class F>
THALWEG_AVX512_INLINE void for_each_window(const MaxPool& p, F f) {
  const Window& w = p.window;
  std::int64_t output = 0;
  for (std::int64_t image = 0; image < p.images; ++image)
    for (std::int64_t d = 0; d < w.out[0]; ++d)
      for (std::int64_t h = 0; h < w.out[1]; ++h) {
        const std::int64_t row = (image * w.in[0] + d * w.kernel[0]) * w.in[1] + h * w.kernel[1];
        for (std::int64_t i = 0; i < w.out[2]; ++i, output += p.pixel)
          f((row * w.in[2] + i * w.kernel[2]) * p.pixel, output);
      }
}

/// Count: taps of the window; 0: any number.
template <int Count, class T>
THALWEG_AVX512 void forward(const MaxPool& p, int any, const T* x, T* y, std::uint8_t* places) {
  const Taps taps = taps_of(p);
  const int count = Count > 0 ? Count : any;
  const __mmask16 open = p.masks_relu ? 0 : whole;
  for_each_window(p, [&](std::int64_t from, std::int64_t to) THALWEG_AVX512 {
    for (std::int64_t c = 0; c < p.pixel; c += block) {
      Vector best = load(x + from + c);
      __m512i place = _mm512_setzero_si512();
      for (int k = 1; k < count; ++k) {
        const Vector value = load(x + from + taps[static_cast<std::size_t>(k)] + c);
        const __mmask16 larger = _mm512_cmp_ps_mask(value, best, _CMP_GT_OQ) |
                                 _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
        best = _mm512_mask_mov_ps(best, larger, value);
        place = _mm512_mask_mov_epi32(place, larger, _mm512_set1_epi32(k));
      }
      const __mmask16 found = open | _mm512_cmp_ps_mask(best, zeros(), _CMP_GT_OQ);
      place = _mm512_mask_mov_epi32(_mm512_set1_epi32(nowhere), found, place);
      put(best, y + to + c);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(places + to + c),
                       _mm512_maskz_cvtepi32_epi8(whole, place));
    }
  });
}

template <int Count, class T>
THALWEG_AVX512 void backward(const MaxPool& p, int any, const T* dy, const std::uint8_t* places,
                             T* dx) {
  const Taps taps = taps_of(p);
  const int count = Count > 0 ? Count : any;
  for_each_window(p, [&](std::int64_t to, std::int64_t from) THALWEG_AVX512 {
    for (std::int64_t c = 0; c < p.pixel; c += block) {
      const Vector gradient = load(dy + from + c);
      const __m512i place = _mm512_maskz_cvtepu8_epi32(
          whole, _mm_loadu_si128(reinterpret_cast<const __m128i*>(places + from + c)));
      for (int k = 0; k < count; ++k) {
        const __mmask16 here = _mm512_cmpeq_epi32_mask(place, _mm512_set1_epi32(k));
        put(_mm512_maskz_mov_ps(here, gradient), dx + to + taps[static_cast<std::size_t>(k)] + c);
      }
    }
  });
}

}  // namespace

template <class T>
void max_pool_forward(const MaxPool& p, const T* x, T* y, std::uint8_t* places) {
  const auto count = static_cast<int>(Window::volume(p.window.kernel));
  if (count == 4) return forward<4>(p, count, x, y, places);
  if (count == 8) return forward<8>(p, count, x, y, places);
  forward<0>(p, count, x, y, places);
}

template <class T>
void max_pool_backward(const MaxPool& p, const T* dy, const std::uint8_t* places, T* dx) {
  const Window& w = p.window;
  bool covered = true;
  for (std::size_t d = 0; d < 3; ++d)
    covered = covered && w.out[d] * w.kernel[d] == w.in[d];
  if (!covered) std::fill_n(dx, p.inputs(), T{});
  const auto count = static_cast<int>(Window::volume(w.kernel));
  if (count == 4) return backward<4>(p, count, dy, places, dx);
  if (count == 8) return backward<8>(p, count, dy, places, dx);
  backward<0>(p, count, dy, places, dx);
}

#else

template <class T>
void max_pool_forward(const MaxPool&, const T*, T*, std::uint8_t*) {
  throw std::logic_error("max_pool_forward without AVX-512");
}

template <class T>
void max_pool_backward(const MaxPool&, const T*, const std::uint8_t*, T*) {
  throw std::logic_error("max_pool_backward without AVX-512");
}

#endif

template void max_pool_forward(const MaxPool&, const float*, float*, std::uint8_t*);
template void max_pool_forward(const MaxPool&, const Bf16*, Bf16*, std::uint8_t*);
template void max_pool_backward(const MaxPool&, const float*, const std::uint8_t*, float*);
template void max_pool_backward(const MaxPool&, const Bf16*, const std::uint8_t*, Bf16*);

}  // namespace thalweg::engine::cpu
