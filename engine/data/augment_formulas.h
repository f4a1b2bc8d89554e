// What augmentation and mixing do to a sample's values, drawn before: one text for the host and for
// GPUs (constexpr: nvcc's --expt-relaxed-constexpr), so that both make the same bits. Only single
// additions, multiplications and divisions; fused ones are switched off where this is compiled.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace thalweg::engine::augment {

/// What stands outside of an image.
enum class Fill : int { zero, edge, wrap };

/// Where an output pixel comes from. Flips, quarter turns and shifts are whole pixels along
/// (d, h, w); the rest is for (h, w), about the image's centre.
struct Geometry {
  std::array<bool, 3> flip{};
  /// Which of the image's axes is read along each of the output's; exchanged ones are of one size.
  std::array<std::int8_t, 3> axis{0, 1, 2};
  std::array<std::int64_t, 3> shift{};
  std::array<std::int64_t, 3> size{};  ///< of the image; not to be changed
  /// input = matrix * output + offset, (y, x) in pixels from the centre
  double yy = 1, yx = 0, xy = 0, xx = 1, y0 = 0, x0 = 0;
  double lens = 0;  ///< then input *= 1 + lens r^2, r = 1 in the corner

  constexpr bool whole_pixels() const {
    return yy == 1 && yx == 0 && xy == 0 && xx == 1 && y0 == 0 && x0 == 0 && lens == 0;
  }
  /// matrix = matrix * (a b; c d): what is asked for later acts on the output first.
  void then(double a, double b, double c, double d);
  /// A quarter turn: the output has along each axis what was along axis `from[axis]`, from its end
  /// where `back[axis]`. Comes after flips, before shifts.
  void turn(const std::array<std::int8_t, 3>& from, const std::array<bool, 3>& back);
};

/// What a change of colours sets values in relation to.
enum class Colour : int {
  add,            ///< v + amount
  from_mean,      ///< mean + amount * (v - mean), the mean of the image as it is by then
  from_own_grey,  ///< the same with the mean of the pixel's three colours
  hue,            ///< hue_turned() by `amount`
};

/// Changes of colours that a table may have.
inline constexpr std::size_t max_colours = 8;

/// What becomes of one sample.
struct Change {
  Geometry geometry;
  std::array<float, max_colours> amounts{};  ///< by place among those asked for
  std::uint32_t colours = 0;                 ///< bit i: amounts[i] is done
};

/// What is blended into a sample.
struct Blend {
  std::uint64_t sample_b = 0;  ///< place in the training list
  float share = 0;             ///< of sample b, in the sample's labels or targets; 0: no change
  bool box = false;            ///< its pixels in [first, end) of each axis; else a weighted sum
  std::array<std::int64_t, 3> first{}, end{};  ///< (d, h, w)

  constexpr bool inside(std::int64_t z, std::int64_t y, std::int64_t x) const {
    return z >= first[0] && z < end[0] && y >= first[1] && y < end[1] && x >= first[2] &&
           x < end[2];
  }
};

/// Index of the pixel that stands for `i` outside 0 .. size-1; -1 = none.
constexpr std::int64_t inside(std::int64_t i, std::int64_t size, Fill fill) {
  if (i >= 0 && i < size) return i;
  if (fill == Fill::edge) return i < 0 ? 0 : size - 1;
  if (fill == Fill::wrap) return ((i % size) + size) % size;
  return -1;
}

/// The whole-pixel part of the way, along one axis: the input's index, or -1.
constexpr std::int64_t source(const Geometry& g, std::size_t axis, std::int64_t i, Fill fill) {
  const std::int64_t at = inside(i + g.shift[axis], g.size[axis], fill);
  return at >= 0 && g.flip[axis] ? g.size[axis] - 1 - at : at;
}

/// Pixels from one to the next along an axis of the image.
constexpr std::int64_t stride(const Geometry& g, std::int8_t axis) {
  if (axis == 2) return 1;
  return axis == 1 ? g.size[2] : g.size[1] * g.size[2];
}

/// Number of the pixel whose source() along the three axes is (z, y, x).
constexpr std::int64_t pixel_at(const Geometry& g, std::int64_t z, std::int64_t y, std::int64_t x) {
  return z * stride(g, g.axis[0]) + y * stride(g, g.axis[1]) + x * stride(g, g.axis[2]);
}

constexpr std::int64_t floor_of(double x) {
  const auto whole = static_cast<std::int64_t>(x);
  return static_cast<double>(whole) > x ? whole - 1 : whole;
}

/// A place between four pixels: (y, x), (y, x+1), (y+1, x), (y+1, x+1) with their weights.
struct Between {
  std::int64_t y = 0, x = 0;
  std::array<float, 4> weights{};
};

/// Where the output pixel (y, x) comes from; whole-pixel moves come after.
constexpr Between between(const Geometry& g, std::int64_t y, std::int64_t x) {
  const double cy = static_cast<double>(g.size[1] - 1) / 2;
  const double cx = static_cast<double>(g.size[2] - 1) / 2;
  const double radius = cy * cy + cx * cx;
  const double corner = radius < 1 ? 1 : radius;
  const double oy = static_cast<double>(y) - cy, ox = static_cast<double>(x) - cx;
  double iy = g.yy * oy + g.yx * ox + g.y0, ix = g.xy * oy + g.xx * ox + g.x0;
  const double bend = 1 + g.lens * (iy * iy + ix * ix) / corner;
  iy = iy * bend + cy, ix = ix * bend + cx;
  Between place;
  place.y = floor_of(iy), place.x = floor_of(ix);
  const auto ry = static_cast<float>(iy - static_cast<double>(place.y));
  const auto rx = static_cast<float>(ix - static_cast<double>(place.x));
  place.weights = {(1 - ry) * (1 - rx), (1 - ry) * rx, ry * (1 - rx), ry * rx};
  return place;
}

constexpr float recoloured(Colour colour, float value, float about, float amount) {
  return colour == Colour::add ? value + amount : about + amount * (value - about);
}

constexpr float grey(float red, float green, float blue) {
  return (red + green + blue) / 3;
}

/// Red, green and blue turned about the axis of greys by the angle whose half has the tangent `t`:
/// Rodrigues' formula about (1, 1, 1); a third of a circle makes red green. Keeps grey() and the
/// distance from it.
constexpr std::array<float, 3> hue_turned(float red, float green, float blue, float t) {
  const float square = t * t, cosine = (1 - square) / (1 + square), sine = 2 * t / (1 + square);
  const float own = (1 + 2 * cosine) / 3, next = (1 - cosine) / 3, across = sine * 0.57735027f;
  const float left = next - across, right = next + across;
  return {own * red + left * green + right * blue, right * red + own * green + left * blue,
          left * red + right * green + own * blue};
}

/// The sum of an image's values that gives its mean has a fixed order: value i belongs to partial
/// sum i % mean_parts, added up one after another; then joined() halves the partial sums.
inline constexpr std::int64_t mean_parts = 1024;

/// Adds the upper half of `parts` sums to the lower one: for parts = mean_parts, ... 2, each of a
/// block's threads from its own number on. The sum ends in sums[0].
constexpr void join(double* sums, std::int64_t parts, std::int64_t thread, std::int64_t threads) {
  for (std::int64_t i = thread; i < parts / 2; i += threads)
    sums[i] += sums[i + parts / 2];
}

constexpr float mean_of(double sum, std::int64_t count) {
  return static_cast<float>(sum / static_cast<double>(count));
}

constexpr float blended(float a, float b, float share_b) {
  return (1 - share_b) * a + share_b * b;
}

}  // namespace thalweg::engine::augment
