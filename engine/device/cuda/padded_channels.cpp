// A thread writes all 8 channels of a pixel, 16 bytes; what neighbouring threads read of a channel
// are neighbours.
#include "engine/device/cuda/padded_channels.h"

#include <limits>

#include "engine/gpu/loops.h"

namespace thalweg::engine::cuda {
namespace {

using gpu::Bf16;
using Pixel = gpu::Pack<Bf16, static_cast<int>(padded_channels)>;

/// Index is 32 bits where that is enough: a division of 64 costs as much as the rest.
template <class Index>
struct PadImages {
  const float* x;
  Pixel* y;
  std::int64_t channels;
  Index places;
  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const {
    const Index pixel = static_cast<Index>(i), n = pixel / places, place = pixel - n * places;
    const float* const from =
        x + static_cast<std::int64_t>(n) * channels * places + static_cast<std::int64_t>(place);
    Pixel out;
    for (int c = 0; c < padded_channels; ++c)
      out.at[c] = gpu::store<Bf16>(c < channels ? from[c * static_cast<std::int64_t>(places)] : 0);
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
  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const {
    y[i] = x[i / channels * padded_channels + i % channels];
  }
};

}  // namespace

void pad_images(gpu::Queue& queue, std::int64_t n, std::int64_t channels, std::int64_t places,
                const float* x, Bf16* y) {
  auto* const pixels = reinterpret_cast<Pixel*>(y);
  if (n * places <= std::numeric_limits<std::int32_t>::max()) {
    gpu::for_each(
        queue, n * places,
        PadImages<std::uint32_t>{x, pixels, channels, static_cast<std::uint32_t>(places)});
  } else {
    gpu::for_each(queue, n * places, PadImages<std::int64_t>{x, pixels, channels, places});
  }
}

void pad_rows(gpu::Queue& queue, std::int64_t rows, std::int64_t channels, const Bf16* x, Bf16* y) {
  gpu::for_each(queue, rows, PadRows{x, reinterpret_cast<Pixel*>(y), channels});
}

void strip_rows(gpu::Queue& queue, std::int64_t rows, std::int64_t channels, const float* x,
                float* y) {
  gpu::for_each(queue, rows * channels, StripRows{x, y, channels});
}

}  // namespace thalweg::engine::cuda
