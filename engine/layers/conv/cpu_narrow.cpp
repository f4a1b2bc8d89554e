#include "engine/layers/conv/cpu_narrow.h"

#include <algorithm>
#include <cstddef>
#include <stdexcept>

#include "engine/device/cpu/avx512.h"

namespace thalweg::engine::cpu {
namespace {

constexpr std::int64_t max_channels = 4;
constexpr std::int64_t block = 16;

}  // namespace

bool serves_narrow(const Window& window, std::int64_t outputs) {
  return has_avx512() && window.directions == 3 && window.channels <= max_channels &&
         outputs % block == 0;
}

std::size_t narrow_scratch_floats(const NarrowConv& c) {
  const Window& w = c.window;
  return static_cast<std::size_t>(w.channels * w.in[0] * w.in[1] * (w.in[2] + 2 * w.padding[2]));
}

#if THALWEG_HAS_AVX512_CODE
namespace {

/// One row of outputs against the row of inputs that one row of the window meets.
struct Rows {
  const float* x;       ///< of channel 0, where output 0 meets the first tap
  const float* dy;      ///< (outputs, 16)
  float* dw;            ///< (taps, channels, 16)
  std::int64_t plane;   ///< from a channel of x to the next
  std::int64_t stride;  ///< of the window
  std::int64_t outputs;
};

/// `Taps` neighbouring taps of `Channels` channels, their sums in registers.
template <int Channels, int Taps>
THALWEG_AVX512 void add_row(const Rows& r) {
  Vector sums[Taps][Channels];
  for (int k = 0; k < Taps; ++k)
    for (int c = 0; c < Channels; ++c)
      sums[k][c] = load(r.dw + (k * Channels + c) * block);
  const float* x = r.x;
  for (std::int64_t o = 0; o < r.outputs; ++o, x += r.stride) {
    const Vector gradient = load(r.dy + o * block);
    for (int k = 0; k < Taps; ++k)
      for (int c = 0; c < Channels; ++c)
        sums[k][c] = times_plus(gradient, all(x[c * r.plane + k]), sums[k][c]);
  }
  for (int k = 0; k < Taps; ++k)
    for (int c = 0; c < Channels; ++c)
      store(r.dw + (k * Channels + c) * block, sums[k][c]);
}

template <int Channels>
void add_taps(Rows r, std::int64_t taps) {
  constexpr int together = 3;
  for (; taps >= together; taps -= together, r.x += together, r.dw += together * Channels * block)
    add_row<Channels, together>(r);
  for (; taps > 0; --taps, ++r.x, r.dw += Channels * block)
    add_row<Channels, 1>(r);
}

void add_taps(const Rows& r, std::int64_t channels, std::int64_t taps) {
  switch (channels) {
    case 1:
      return add_taps<1>(r, taps);
    case 2:
      return add_taps<2>(r, taps);
    case 3:
      return add_taps<3>(r, taps);
    default:
      return add_taps<4>(r, taps);
  }
}

THALWEG_AVX512 void add_bias(const float* dy, std::int64_t outputs, float* db) {
  constexpr int lanes = 4;  // additions under way at once
  Vector sums[lanes] = {load(db), zeros(), zeros(), zeros()};
  std::int64_t o = 0;
  for (; o + lanes <= outputs; o += lanes)
    for (int i = 0; i < lanes; ++i)
      sums[i] = plus(sums[i], load(dy + (o + i) * block));
  for (; o < outputs; ++o)
    sums[0] = plus(sums[0], load(dy + o * block));
  store(db, plus(plus(sums[0], sums[1]), plus(sums[2], sums[3])));
}

/// A sample with zeros at both ends of every row.
void pad(const Window& w, const float* x, float* padded) {
  const std::int64_t width = w.in[2], ends = w.padding[2];
  for (std::int64_t row = 0; row < w.channels * w.in[0] * w.in[1]; ++row, x += width) {
    padded = std::fill_n(padded, ends, 0.0f);
    padded = std::copy_n(x, width, padded);
    padded = std::fill_n(padded, ends, 0.0f);
  }
}

}  // namespace

void narrow_backward_weights(const NarrowConv& c, const float* x, const float* dy, float* dw,
                             float* db, float* scratch) {
  const Window& w = c.window;
  const std::int64_t width = w.in[2] + 2 * w.padding[2];
  const std::int64_t row = w.kernel[2] * w.channels * block;  // of weights
  const std::int64_t weights = w.kernel[0] * w.kernel[1] * row;
  std::fill_n(dw, c.blocks * weights, 0.0f);
  if (db != nullptr) std::fill_n(db, c.blocks * block, 0.0f);
  Rows r{nullptr, dy, nullptr, w.in[0] * w.in[1] * width, w.stride[2], w.out[2]};
  for (std::int64_t n = 0; n < c.samples; ++n, x += w.channels * Window::volume(w.in)) {
    pad(w, x, scratch);
    for (std::int64_t b = 0; b < c.blocks; ++b)
      for (std::int64_t d = 0; d < w.out[0]; ++d)
        for (std::int64_t h = 0; h < w.out[1]; ++h, r.dy += w.out[2] * block) {
          if (db != nullptr) add_bias(r.dy, w.out[2], db + b * block);
          for (std::int64_t kd = 0; kd < w.kernel[0]; ++kd)
            for (std::int64_t kh = 0; kh < w.kernel[1]; ++kh) {
              const std::int64_t z = d * w.stride[0] + kd - w.padding[0];
              const std::int64_t y = h * w.stride[1] + kh - w.padding[1];
              if (z < 0 || z >= w.in[0] || y < 0 || y >= w.in[1]) continue;
              r.x = scratch + (z * w.in[1] + y) * width;
              r.dw = dw + b * weights + (kd * w.kernel[1] + kh) * row;
              add_taps(r, w.channels, w.kernel[2]);
            }
        }
  }
}

#else

void narrow_backward_weights(const NarrowConv&, const float*, const float*, float*, float*,
                             float*) {
  throw std::logic_error("narrow_backward_weights without AVX-512");
}

#endif

}  // namespace thalweg::engine::cpu
