// A thread writes all 8 channels of a pixel, 16 bytes; what neighbouring threads read of a channel
// are neighbours.
#include "engine/device/cuda/padded_channels.h"

#include <algorithm>
#include <stdexcept>

#include "engine/gpu/divisor.h"
#include "engine/gpu/loops.h"

namespace thalweg::engine::cuda {
namespace {

using gpu::Bf16;
using Pixel = gpu::Pack<Bf16, static_cast<int>(padded_channels)>;

struct PadImages {
  const float* x;
  Pixel* y;
  std::int64_t channels;
  gpu::Divisor places;
  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const {
    auto place = static_cast<std::uint32_t>(i);
    const std::int64_t n = places.split(place), apart = places.by();
    const float* const from = x + n * channels * apart + place;
    Pixel out;
    for (int c = 0; c < padded_channels; ++c)
      out.at[c] = gpu::store<Bf16>(c < channels ? from[c * apart] : 0);
    y[i] = out;
  }
};

struct PadRows {
  const Bf16* x;
  Pixel* y;
  std::int64_t channels;
  THALWEG_HOST_DEVICE void operator()(std::int64_t row) const {
    Pixel out;
    for (int c = 0; c < padded_channels; ++c)
      out.at[c] = c < channels ? x[row * channels + c] : Bf16{0};
    y[row] = out;
  }
};

struct StripRows {
  const float* x;
  float* y;
  std::int64_t channels;
  THALWEG_HOST_DEVICE void operator()(std::int64_t row) const {
    for (int c = 0; c < padded_channels; ++c)
      if (c < channels) y[row * channels + c] = x[row * padded_channels + c];
  }
};

}  // namespace

void pad_images(gpu::Stream& stream, std::int64_t n, std::int64_t channels, std::int64_t places,
                const float* x, Bf16* y) {
  if (n * places <= 0) return;
  // As many images at once as a Divisor can number the pixels of.
  const std::int64_t most = ((std::int64_t{1} << 31) - 1) / places;
  if (most < 1) throw std::length_error("an image of 2^31 pixels or more");
  for (std::int64_t first = 0; first < n; first += most)
    gpu::for_each(
        stream, std::min(most, n - first) * places,
        PadImages{x + first * channels * places, reinterpret_cast<Pixel*>(y) + first * places,
                  channels, gpu::Divisor(static_cast<std::uint32_t>(places))});
}

void pad_rows(gpu::Stream& stream, std::int64_t rows, std::int64_t channels, const Bf16* x,
              Bf16* y) {
  gpu::for_each(stream, rows, PadRows{x, reinterpret_cast<Pixel*>(y), channels});
}

void strip_rows(gpu::Stream& stream, std::int64_t rows, std::int64_t channels, const float* x,
                float* y) {
  gpu::for_each(stream, rows, StripRows{x, y, channels});
}

}  // namespace thalweg::engine::cuda
