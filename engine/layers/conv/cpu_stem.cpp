#include "engine/layers/conv/cpu_stem.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "engine/device/cpu/avx512.h"

namespace thalweg::engine::cpu {
namespace {

constexpr std::int64_t max_channels = 3;
constexpr std::int64_t block = 16;
constexpr std::int64_t side = 3;  // of the window

std::int64_t padded(const Window& w, std::size_t direction) {
  return w.in[direction] + 2 * w.padding[direction];
}

}  // namespace

bool serves_stem(const Window& window, std::int64_t outputs) {
  return has_avx512() && window.directions == 2 && window.kernel[2] == side &&
         window.channels <= max_channels && outputs % block == 0;
}

std::size_t stem_scratch_floats(const StemConv& c) {
  return static_cast<std::size_t>(c.window.channels * padded(c.window, 1) * padded(c.window, 2));
}

#if THALWEG_HAS_AVX512_CODE
namespace {

/// A sample with zeros around.
void pad(const Window& w, const float* x, float* to) {
  const std::int64_t ends = w.padding[2], rim = w.padding[1] * padded(w, 2);
  for (std::int64_t c = 0; c < w.channels; ++c) {
    to = std::fill_n(to, rim, 0.0f);
    for (std::int64_t row = 0; row < w.in[1]; ++row, x += w.in[2]) {
      to = std::fill_n(to, ends, 0.0f);
      to = std::copy_n(x, w.in[2], to);
      to = std::fill_n(to, ends, 0.0f);
    }
    to = std::fill_n(to, rim, 0.0f);
  }
}

/// Distances of a window's inputs from its first, in the order of the weights.
template <int Channels>
std::array<std::int64_t, 9 * Channels> taps_of(const Window& w) {
  std::array<std::int64_t, 9 * Channels> taps;
  std::size_t number = 0;
  for (std::int64_t h = 0; h < side; ++h)
    for (std::int64_t i = 0; i < side; ++i)
      for (std::int64_t c = 0; c < Channels; ++c)
        taps[number++] = (c * padded(w, 1) + h) * padded(w, 2) + i;
  return taps;
}

/// Distances between neighbours of the outputs.
struct Steps {
  std::int64_t sample, block, row, pixel;

  explicit Steps(const StemConv& c) {
    const std::int64_t pixels = Window::volume(c.window.out);
    sample = pixels * c.outputs;
    pixel = c.innermost ? c.outputs : cpu::block;
    block = c.innermost ? cpu::block : pixels * cpu::block;
    row = c.window.out[2] * pixel;
  }
};

/// Some neighbouring outputs of one row.
struct Part {
  const float* x;        ///< where the first output meets the first tap
  std::int64_t stride;   ///< of the window
  const float* weights;  ///< of the first block of channels
  const float* bias;     ///< or null
  bool relu;
  Bf16* y;
};

template <int Channels, int Blocks, int Pixels>
THALWEG_AVX512 void multiply(const std::array<std::int64_t, 9 * Channels>& taps, const Part& p,
                             const Steps& step) {
  Vector sums[Pixels][Blocks];
  for (int b = 0; b < Blocks; ++b) {
    const Vector start = p.bias != nullptr ? load(p.bias + b * block) : zeros();
    for (int i = 0; i < Pixels; ++i)
      sums[i][b] = start;
  }
  for (std::size_t k = 0; k < taps.size(); ++k) {
    Vector weights[Blocks];
    for (std::size_t b = 0; b < Blocks; ++b)
      weights[b] = load(p.weights + (b * taps.size() + k) * block);
    for (int i = 0; i < Pixels; ++i) {
      const Vector value = all(p.x[taps[k] + i * p.stride]);
      for (int b = 0; b < Blocks; ++b)
        sums[i][b] = times_plus(value, weights[b], sums[i][b]);
    }
  }
  for (int i = 0; i < Pixels; ++i)
    for (int b = 0; b < Blocks; ++b) {
      const Vector sum = sums[i][b];
      store(p.y + i * step.pixel + b * step.block,
            p.relu ? _mm512_maskz_max_ps(whole, sum, zeros()) : sum);
    }
}

template <int Channels, int Blocks>
void multiply_row(const std::array<std::int64_t, 9 * Channels>& taps, Part p, const Steps& step,
                  std::int64_t outputs) {
  constexpr int most = 8;  // with two blocks of channels, 16 sums
  for (; outputs >= most; outputs -= most, p.x += most * p.stride, p.y += most * step.pixel)
    multiply<Channels, Blocks, most>(taps, p, step);
  for (; outputs > 0; --outputs, p.x += p.stride, p.y += step.pixel)
    multiply<Channels, Blocks, 1>(taps, p, step);
}

template <int Channels>
void forward(const StemConv& c, const float* x, const float* weights, const float* bias, bool relu,
             Bf16* y, float* scratch) {
  const Window& w = c.window;
  const auto taps = taps_of<Channels>(w);
  const Steps step(c);
  const std::int64_t blocks = c.outputs / block, of_block = 9 * Channels * block;
  for (std::int64_t n = 0; n < c.samples; ++n, x += Channels * w.in[1] * w.in[2]) {
    pad(w, x, scratch);
    for (std::int64_t h = 0; h < w.out[1]; ++h)
      for (std::int64_t b = 0; b < blocks; b += 2) {
        const Part row{scratch + h * w.stride[1] * padded(w, 2),
                       w.stride[2],
                       weights + b * of_block,
                       bias != nullptr ? bias + b * block : nullptr,
                       relu,
                       y + n * step.sample + b * step.block + h * step.row};
        if (b + 1 < blocks)
          multiply_row<Channels, 2>(taps, row, step, w.out[2]);
        else
          multiply_row<Channels, 1>(taps, row, step, w.out[2]);
      }
  }
}

/// Adds what one sample says of a block of channels.
template <int Channels>
THALWEG_AVX512 void add_sample(const Window& w, const Steps& step, const float* x, const Bf16* dy,
                               float* dw, float* db) {
  constexpr std::size_t count = 9 * Channels;
  const auto taps = taps_of<Channels>(w);
  Vector sums[count], bias = zeros();
  for (std::size_t k = 0; k < count; ++k)
    sums[k] = load(dw + k * block);
  for (std::int64_t h = 0; h < w.out[1]; ++h) {
    const float* from = x + h * w.stride[1] * padded(w, 2);
    const Bf16* gradients = dy + h * step.row;
    for (std::int64_t i = 0; i < w.out[2]; ++i, from += w.stride[2], gradients += step.pixel) {
      const Vector gradient = load(gradients);
      bias = plus(bias, gradient);
      for (std::size_t k = 0; k < count; ++k)
        sums[k] = times_plus(gradient, all(from[taps[k]]), sums[k]);
    }
  }
  for (std::size_t k = 0; k < count; ++k)
    store(dw + k * block, sums[k]);
  if (db != nullptr) store(db, plus(load(db), bias));
}

template <int Channels>
void backward_weights(const StemConv& c, const float* x, const Bf16* dy, float* dw, float* db,
                      float* scratch) {
  const Window& w = c.window;
  const Steps step(c);
  const std::int64_t blocks = c.outputs / block, of_block = 9 * Channels * block;
  std::fill_n(dw, blocks * of_block, 0.0f);
  if (db != nullptr) std::fill_n(db, c.outputs, 0.0f);
  for (std::int64_t n = 0; n < c.samples; ++n, x += Channels * w.in[1] * w.in[2]) {
    pad(w, x, scratch);
    for (std::int64_t b = 0; b < blocks; ++b)
      add_sample<Channels>(w, step, scratch, dy + n * step.sample + b * step.block,
                           dw + b * of_block, db != nullptr ? db + b * block : nullptr);
  }
}

}  // namespace

void stem_forward(const StemConv& c, const float* x, const float* weights, const float* bias,
                  bool relu, Bf16* y, float* scratch) {
  if (c.window.channels == 1) return forward<1>(c, x, weights, bias, relu, y, scratch);
  if (c.window.channels == 2) return forward<2>(c, x, weights, bias, relu, y, scratch);
  forward<3>(c, x, weights, bias, relu, y, scratch);
}

void stem_backward_weights(const StemConv& c, const float* x, const Bf16* dy, float* dw, float* db,
                           float* scratch) {
  if (c.window.channels == 1) return backward_weights<1>(c, x, dy, dw, db, scratch);
  if (c.window.channels == 2) return backward_weights<2>(c, x, dy, dw, db, scratch);
  backward_weights<3>(c, x, dy, dw, db, scratch);
}

#else

void stem_forward(const StemConv&, const float*, const float*, const float*, bool, Bf16*, float*) {
  throw std::logic_error("stem_forward without AVX-512");
}

void stem_backward_weights(const StemConv&, const float*, const Bf16*, float*, float*, float*) {
  throw std::logic_error("stem_backward_weights without AVX-512");
}

#endif

}  // namespace thalweg::engine::cpu
