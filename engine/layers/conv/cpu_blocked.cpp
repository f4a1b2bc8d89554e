#include "engine/layers/conv/cpu_blocked.h"

#include <algorithm>
#include <stdexcept>

#include "engine/device/cpu/avx512.h"

namespace thalweg::engine::cpu {
namespace {

constexpr std::int64_t block = 16;

}  // namespace

bool serves_blocked(const Window& window, std::int64_t outputs) {
  return has_avx512() && window.channels % block == 0 && outputs % block == 0;
}

bool wider_than_input(const Window& window) {
  for (auto d = static_cast<std::size_t>(3 - window.directions); d < 3; ++d)
    if (window.kernel[d] <= window.in[d]) return false;
  return true;
}

#if THALWEG_HAS_AVX512_CODE
namespace {

/// Outputs, in one direction, that meet `tap` of the window inside the input.
struct Range {
  std::int64_t begin, end;
  std::int64_t first;  ///< the input that output `begin` meets

  Range(const Window& w, std::size_t direction, std::int64_t tap) {
    const std::int64_t stride = w.stride[direction], shift = tap - w.padding[direction];
    begin = shift < 0 ? (-shift + stride - 1) / stride : 0;
    const std::int64_t room = w.in[direction] - 1 - shift;
    end = room < 0 ? 0 : std::min(w.out[direction], room / stride + 1);
    first = begin * stride + shift;
  }
};

/// The sums for one tap and two blocks of channels, in registers.
THALWEG_AVX512 void sum_tap(const BlockedConv& c, const Range (&at)[3], const float* x,
                            const float* dy, float* dw) {
  const Window& w = c.window;
  Vector sums[block];
  for (Vector& sum : sums)
    sum = zeros();
  for (std::int64_t n = 0; n < c.samples; ++n) {
    for (std::int64_t d = at[0].begin; d < at[0].end; ++d)
      for (std::int64_t h = at[1].begin; h < at[1].end; ++h) {
        const std::int64_t z = at[0].first + (d - at[0].begin) * w.stride[0];
        const std::int64_t y = at[1].first + (h - at[1].begin) * w.stride[1];
        const float* value = x + ((z * w.in[1] + y) * w.in[2] + at[2].first) * block;
        const float* gradient = dy + ((d * w.out[1] + h) * w.out[2] + at[2].begin) * block;
        for (std::int64_t o = at[2].begin; o < at[2].end; ++o) {
          const Vector gradients = load(gradient);
          for (std::int64_t i = 0; i < block; ++i)
            sums[i] = times_plus(gradients, all(value[i]), sums[i]);
          value += w.stride[2] * block;
          gradient += block;
        }
      }
    x += w.channels * Window::volume(w.in);
    dy += c.outputs * Window::volume(w.out);
  }
  for (std::int64_t i = 0; i < block; ++i)
    store(dw + i * block, sums[i]);
}

THALWEG_AVX512 void sum_bias(const BlockedConv& c, const float* dy, float* db) {
  const std::int64_t pixels = Window::volume(c.window.out);
  Vector sum = zeros();
  for (std::int64_t n = 0; n < c.samples; ++n, dy += c.outputs * pixels)
    for (std::int64_t o = 0; o < pixels; ++o)
      sum = plus(sum, load(dy + o * block));
  store(db, sum);
}

}  // namespace

THALWEG_AVX512 void floats_in_blocks(const Bf16* from, std::int64_t samples, std::int64_t channels,
                                     std::int64_t pixels, bool innermost, float* to) {
  const std::int64_t blocks = channels / block;
  const std::int64_t next_block = innermost ? block : pixels * block;
  const std::int64_t next_pixel = innermost ? channels : block;
  for (std::int64_t n = 0; n < samples; ++n, from += channels * pixels)
    for (std::int64_t b = 0; b < blocks; ++b)
      for (std::int64_t p = 0; p < pixels; ++p, to += block)
        store(to, load(from + b * next_block + p * next_pixel));
}

void blocked_backward_weights(const BlockedConv& c, const float* x, const float* dy, float* dw,
                              float* db) {
  const Window& w = c.window;
  const std::int64_t inputs = block * Window::volume(w.in),
                     gradients = block * Window::volume(w.out);
  for (std::int64_t o = 0; o < c.outputs / block; ++o) {
    if (db != nullptr) sum_bias(c, dy + o * gradients, db + o * block);
    for (std::int64_t i = 0; i < w.channels / block; ++i)
      for (std::int64_t kd = 0; kd < w.kernel[0]; ++kd)
        for (std::int64_t kh = 0; kh < w.kernel[1]; ++kh)
          for (std::int64_t kw = 0; kw < w.kernel[2]; ++kw, dw += block * block) {
            const Range at[3] = {{w, 0, kd}, {w, 1, kh}, {w, 2, kw}};
            sum_tap(c, at, x + i * inputs, dy + o * gradients, dw);
          }
  }
}

#else

void floats_in_blocks(const Bf16*, std::int64_t, std::int64_t, std::int64_t, bool, float*) {
  throw std::logic_error("floats_in_blocks without AVX-512");
}

void blocked_backward_weights(const BlockedConv&, const float*, const float*, float*, float*) {
  throw std::logic_error("blocked_backward_weights without AVX-512");
}

#endif

}  // namespace thalweg::engine::cpu
