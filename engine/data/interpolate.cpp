// A row at a time: first the places of its pixels and their weights, a vector of pixels at once;
// then their values, up to four channels at once. The bits are those of one pixel after another.
// Tables say which pixel stands for each row and column that can come up, so that no loop has
// cases.
#include "engine/data/interpolate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "engine/tensor/simd.h"

namespace thalweg::engine {
namespace {

using augment::Fill;
using augment::Geometry;

/// In a table: added to any other offset it stays below 0.
constexpr std::int32_t kNoPixel = std::numeric_limits<std::int32_t>::min() / 2;
/// Pixels away from the image that a table reaches.
constexpr double kMaxDistance = 1 << 24;

/// Along one axis: the offset in the image of what stands for each index from `first` on.
struct Offsets {
  std::int32_t first = 0;
  std::vector<std::int32_t> at;

  const std::int32_t* of_zero() const { return at.data() - first; }
};

Offsets offsets(const Geometry& g, std::size_t axis, Fill fill, double distance) {
  const auto reach = static_cast<std::int32_t>(distance) + 2;
  const auto size = static_cast<std::int32_t>(g.size[axis]);
  const std::int64_t step = augment::stride(g, g.axis[axis]);
  Offsets table{-reach, {}};
  table.at.reserve(static_cast<std::size_t>(size) + 2 * static_cast<std::size_t>(reach));
  for (std::int32_t i = -reach; i < size + reach; ++i) {
    const std::int64_t within = augment::inside(i, size, fill);
    const std::int64_t from = within < 0 ? within : augment::source(g, axis, within, fill);
    table.at.push_back(from < 0 ? kNoPixel : static_cast<std::int32_t>(from * step));
  }
  return table;
}

/// Pixels beyond the image's sides that between() can name, at most, along (h, w).
std::array<double, 2> max_distance(const Geometry& g) {
  const double cy = static_cast<double>(g.size[1] - 1) / 2;
  const double cx = static_cast<double>(g.size[2] - 1) / 2;
  const double y = std::abs(g.yy) * cy + std::abs(g.yx) * cx + std::abs(g.y0);
  const double x = std::abs(g.xy) * cy + std::abs(g.xx) * cx + std::abs(g.x0);
  const double corner = std::max(1.0, cy * cy + cx * cx);
  const double bend = 1 + std::abs(g.lens) * (y * y + x * x) / corner;
  return {y * bend + 1, x * bend + 1};
}

/// Of a row's pixels: numbers of the four pixels about each place, below 0 outside, and weights.
struct Row {
  explicit Row(std::size_t width) {
    for (std::size_t k = 0; k < 4; ++k)
      from[k].resize(width), weights[k].resize(width);
  }
  std::array<std::vector<std::int32_t>, 4> from;
  std::array<std::vector<float>, 4> weights;
};

/// As augment::between(), whose places are within 32 bits here.
THALWEG_SIMD void find_places(const Geometry& g, std::int64_t row, std::int32_t width,
                              std::int32_t* __restrict y, std::int32_t* __restrict x,
                              float* __restrict right, float* __restrict down) {
  const double cy = static_cast<double>(g.size[1] - 1) / 2;
  const double cx = static_cast<double>(g.size[2] - 1) / 2;
  const double radius = cy * cy + cx * cx;
  const double corner = radius < 1 ? 1 : radius;
  const double oy = static_cast<double>(row) - cy;
  const double yy = g.yy, yx = g.yx, xy = g.xy, xx = g.xx, y0 = g.y0, x0 = g.x0, lens = g.lens;
  for (std::int32_t i = 0; i < width; ++i) {
    const double ox = static_cast<double>(i) - cx;
    double iy = yy * oy + yx * ox + y0, ix = xy * oy + xx * ox + x0;
    const double bend = 1 + lens * (iy * iy + ix * ix) / corner;
    iy = iy * bend + cy, ix = ix * bend + cx;
    const auto whole_y = static_cast<std::int32_t>(iy), whole_x = static_cast<std::int32_t>(ix);
    y[i] = whole_y - (static_cast<double>(whole_y) > iy ? 1 : 0);
    x[i] = whole_x - (static_cast<double>(whole_x) > ix ? 1 : 0);
    down[i] = static_cast<float>(iy - static_cast<double>(y[i]));
    right[i] = static_cast<float>(ix - static_cast<double>(x[i]));
  }
}

THALWEG_SIMD void weigh(std::int32_t width, const float* __restrict right,
                        const float* __restrict down, float* __restrict w0, float* __restrict w1,
                        float* __restrict w2, float* __restrict w3) {
  for (std::int32_t i = 0; i < width; ++i) {
    const float rx = right[i], ry = down[i];
    w0[i] = (1 - ry) * (1 - rx);
    w1[i] = (1 - ry) * rx;
    w2[i] = ry * (1 - rx);
    w3[i] = ry * rx;
  }
}

THALWEG_SIMD void find_pixels(std::int32_t width, std::int32_t outside,
                              const std::int32_t* __restrict rows,
                              const std::int32_t* __restrict columns,
                              const std::int32_t* __restrict y, const std::int32_t* __restrict x,
                              std::int32_t* __restrict f0, std::int32_t* __restrict f1,
                              std::int32_t* __restrict f2, std::int32_t* __restrict f3) {
  for (std::int32_t i = 0; i < width; ++i) {
    const std::int32_t above = rows[y[i]], below = rows[y[i] + 1];
    const std::int32_t left = columns[x[i]], right = columns[x[i] + 1];
    f0[i] = above + left < 0 ? outside : above + left;
    f1[i] = above + right < 0 ? outside : above + right;
    f2[i] = below + left < 0 ? outside : below + left;
    f3[i] = below + right < 0 ? outside : below + right;
  }
}

/// Values of up to four channels of a pixel, which are mixed at once.
using Pixel = float __attribute__((vector_size(16)));
constexpr std::int64_t kGroup = 4;

/// One pixel more, of zeros, stands for all outside: what it adds changes no bit, for a sum from +0
/// is never -0.
template <std::int64_t channels>
void interleave(std::int64_t plane, const float* __restrict in, Pixel* __restrict out) {
  for (std::int64_t i = 0; i < plane; ++i) {
    Pixel pixel{};
    for (std::int64_t c = 0; c < channels; ++c)
      pixel[c] = in[c * plane + i];
    out[i] = pixel;
  }
  out[plane] = Pixel{};
}

template <std::int64_t channels>
void mix(const Row& row, std::int64_t plane, const Pixel* __restrict in, float* __restrict out) {
  const auto& [f0, f1, f2, f3] = row.from;
  const auto& [w0, w1, w2, w3] = row.weights;
  for (std::size_t i = 0; i < f0.size(); ++i) {
    const Pixel value =
        Pixel{} + w0[i] * in[f0[i]] + w1[i] * in[f1[i]] + w2[i] * in[f2[i]] + w3[i] * in[f3[i]];
    for (std::int64_t c = 0; c < channels; ++c)
      out[c * plane + static_cast<std::int64_t>(i)] = value[c];
  }
}

/// Calls each(first channel, how many) of every group, the number as a constant.
template <class Each>
void for_groups(std::int64_t channels, const Each& each) {
  for (std::int64_t first = 0; first < channels; first += kGroup) {
    const std::int64_t left = channels - first;
    if (left == 1)
      each(first, std::integral_constant<std::int64_t, 1>());
    else if (left == 2)
      each(first, std::integral_constant<std::int64_t, 2>());
    else if (left == 3)
      each(first, std::integral_constant<std::int64_t, 3>());
    else
      each(first, std::integral_constant<std::int64_t, kGroup>());
  }
}

}  // namespace

void interpolate(const Geometry& g, Fill fill, std::int64_t channels, const float* in, float* out) {
  const std::int64_t height = g.size[1], plane = height * g.size[2];
  const auto [above, beside] = max_distance(g);
  if (!(above < kMaxDistance && beside < kMaxDistance) || plane >= -std::int64_t{kNoPixel})
    throw std::invalid_argument("an image is moved too far, or is too large");
  const auto width = static_cast<std::int32_t>(g.size[2]);
  const Offsets rows = offsets(g, 1, fill, above), columns = offsets(g, 2, fill, beside);
  Row row(static_cast<std::size_t>(width));
  std::vector<std::int32_t> y(row.from[0].size()), x(y.size());
  std::vector<float> right(y.size()), down(y.size());
  auto& [w0, w1, w2, w3] = row.weights;
  auto& [f0, f1, f2, f3] = row.from;
  const std::int64_t groups = (channels + kGroup - 1) / kGroup;
  const std::unique_ptr<Pixel[]> pixels(new Pixel[static_cast<std::size_t>(groups * (plane + 1))]);
  const auto of_group = [&](std::int64_t first) {
    return pixels.get() + first / kGroup * (plane + 1);
  };
  for_groups(channels, [&](std::int64_t first, auto count) {
    interleave<count()>(plane, in + first * plane, of_group(first));
  });
  for (std::int64_t r = 0; r < height; ++r) {
    find_places(g, r, width, y.data(), x.data(), right.data(), down.data());
    weigh(width, right.data(), down.data(), w0.data(), w1.data(), w2.data(), w3.data());
    find_pixels(width, static_cast<std::int32_t>(plane), rows.of_zero(), columns.of_zero(),
                y.data(), x.data(), f0.data(), f1.data(), f2.data(), f3.data());
    for_groups(channels, [&](std::int64_t first, auto count) {
      mix<count()>(row, plane, of_group(first), out + first * plane + r * width);
    });
  }
}

}  // namespace thalweg::engine
