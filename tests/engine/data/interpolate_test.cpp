// Interpolated images beside the formulas of one pixel, bit by bit.
#include "engine/data/interpolate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "engine/tensor/random.h"

namespace thalweg::engine {
namespace {

using augment::Fill;
using augment::Geometry;

/// One pixel after another, as augment_formulas.h has it.
std::vector<float> by_pixel(const Geometry& g, Fill fill, std::int64_t channels,
                            const std::vector<float>& in) {
  const std::int64_t H = g.size[1], W = g.size[2];
  std::vector<float> out;
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t y = 0; y < H; ++y)
      for (std::int64_t x = 0; x < W; ++x) {
        const augment::Between place = augment::between(g, y, x);
        float value = 0;
        for (std::int64_t k = 0; k < 4; ++k) {
          const std::int64_t iy = augment::inside(place.y + k / 2, H, fill);
          const std::int64_t ix = augment::inside(place.x + k % 2, W, fill);
          if (iy < 0 || ix < 0) continue;
          const std::int64_t sy = augment::source(g, 1, iy, fill);
          const std::int64_t sx = augment::source(g, 2, ix, fill);
          if (sy < 0 || sx < 0) continue;
          const auto at = static_cast<std::size_t>(c * H * W + augment::pixel_at(g, 0, sy, sx));
          value += place.weights[static_cast<std::size_t>(k)] * in[at];
        }
        out.push_back(value);
      }
  return out;
}

std::vector<float> image(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = 4 * uniform01(philox(3, Stream::noise, 0, i)[0]) - 2;
  return values;
}

Geometry geometry(std::int64_t height, std::int64_t width) {
  Geometry g;
  g.size = {1, height, width};
  return g;
}

Geometry turned(Geometry g, double degrees, double scale) {
  const double angle = degrees / 57.29577951308232;
  g.yy = g.xx = scale * std::cos(angle);
  g.yx = scale * std::sin(angle);
  g.xy = -g.yx;
  return g;
}

std::vector<Geometry> geometries() {
  std::vector<Geometry> all;
  for (const auto& [height, width] : {std::pair{9, 37}, {1, 5}, {64, 1}, {17, 17}}) {
    Geometry g = turned(geometry(height, width), 31, 1.2);
    all.push_back(g);
    g.y0 = 0.75, g.x0 = -2.5;
    all.push_back(g);
    g.lens = -0.4;
    all.push_back(g);
    g.lens = 0.7, g.flip = {false, true, false}, g.shift = {0, 2, -3};
    all.push_back(g);
    all.push_back(turned(geometry(height, width), -170, 6));  // mostly from outside
  }
  Geometry g = turned(geometry(17, 17), 5, 1);
  g.axis = {0, 2, 1};  // a quarter turn before
  g.flip = {false, false, true};
  all.push_back(g);
  return all;
}

TEST(Interpolate, GivesTheBitsOfOnePixelAfterAnother) {
  for (const Geometry& g : geometries())
    for (const Fill fill : {Fill::zero, Fill::edge, Fill::wrap})
      for (const std::int64_t channels : {1, 3}) {
        std::vector<float> in = image(static_cast<std::size_t>(channels * g.size[1] * g.size[2]));
        in[0] = -0.0f;
        const std::vector<float> expected = by_pixel(g, fill, channels, in);
        std::vector<float> out(in.size(), std::numeric_limits<float>::quiet_NaN());
        interpolate(g, fill, channels, in.data(), out.data());
        EXPECT_EQ(std::memcmp(out.data(), expected.data(), out.size() * sizeof(float)), 0)
            << g.size[1] << " x " << g.size[2] << ", fill " << static_cast<int>(fill);
      }
}

TEST(Interpolate, KeepsWhatIsNoNumberWhereItIs) {
  const Geometry g = turned(geometry(20, 20), 45, 1);  // the corners come from outside
  std::vector<float> in = image(400);
  in[0] = std::numeric_limits<float>::quiet_NaN();  // what a pixel from outside would read first
  std::vector<float> out(400);
  interpolate(g, Fill::zero, 1, in.data(), out.data());
  EXPECT_THAT(out, testing::Each(testing::Not(testing::IsNan())));
}

TEST(Interpolate, RefusesWhatNoTableHolds) {
  Geometry g = geometry(4, 4);
  std::vector<float> in(16), out(16);
  for (const double x0 : {1e9, std::numeric_limits<double>::quiet_NaN()}) {
    g.x0 = x0;
    EXPECT_THROW(interpolate(g, Fill::zero, 1, in.data(), out.data()), std::invalid_argument);
  }
}

}  // namespace
}  // namespace thalweg::engine
