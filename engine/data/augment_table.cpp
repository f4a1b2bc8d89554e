#include "engine/data/augment_table.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace thalweg::engine::augment {
namespace {

enum Axis : std::size_t { kDepth, kHeight, kWidth };

template <Axis axis>
void flip(Geometry& g, const Draw& d, double probability) {
  g.flip[axis] = static_cast<double>(d.u[0]) < probability;
}

/// As padding by `amount` pixels and cutting a random window of the old size.
void crop(Geometry& g, const Draw& d, double amount) {
  const double n = std::floor(amount);
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (g.size[axis] > 1)
      g.shift[axis] += static_cast<std::int64_t>(std::floor(d.between(-n, n + 1, axis)));
}

void translate(Geometry& g, const Draw& d, double amount) {
  g.y0 += d.between(-amount, amount, 0) * static_cast<double>(g.size[kHeight]);
  g.x0 += d.between(-amount, amount, 1) * static_cast<double>(g.size[kWidth]);
}

void scale(Geometry& g, const Draw& d, double amount) {
  const double s = 1 / d.between(1 - amount, 1 + amount);
  g.then(s, 0, 0, s);
}

void stretch(Geometry& g, const Draw& d, double amount) {
  const double s = std::sqrt(d.between(1 - amount, 1 + amount));
  g.then(1 / s, 0, 0, s);
}

void shear(Geometry& g, const Draw& d, double amount) {
  g.then(1, 0, d.between(-amount, amount), 1);
}

void rotate(Geometry& g, const Draw& d, double degrees) {
  const double a = d.between(-degrees, degrees) * std::numbers::pi / 180;
  g.then(std::cos(a), -std::sin(a), std::sin(a), std::cos(a));
}

void lens(Geometry& g, const Draw& d, double amount) {
  g.lens = d.between(-amount, amount);
}

/// numpy.rot90's: counterclockwise, in the plane of height and width.
void rotate90(Geometry& g, const Draw& d, double probability) {
  if (static_cast<double>(d.u[0]) >= probability) return;
  for (int quarters = 1 + static_cast<int>(d.between(0, 3, 1)); quarters > 0; --quarters)
    g.turn({0, 2, 1}, {false, true, false});
}

struct Turn {
  std::array<std::int8_t, 3> from;
  std::array<bool, 3> back;
};

/// The rotations of a cube but for none at all: exchanges of axes, with as many mirrored ones as
/// make no mirror image of the whole.
std::vector<Turn> turns_of_cubes() {
  std::vector<Turn> turns;
  std::array<std::int8_t, 3> from{0, 1, 2};
  do {
    const bool odd = (from[0] > from[1]) ^ (from[0] > from[2]) ^ (from[1] > from[2]);
    for (int bits = 0; bits < 8; ++bits) {
      const std::array<bool, 3> back{(bits & 4) != 0, (bits & 2) != 0, (bits & 1) != 0};
      if ((back[0] ^ back[1] ^ back[2]) == odd) turns.push_back({from, back});
    }
  } while (std::next_permutation(from.begin(), from.end()));
  turns.erase(turns.begin());
  return turns;
}

void rotate90_3d(Geometry& g, const Draw& d, double probability) {
  static const std::vector<Turn> turns = turns_of_cubes();
  if (static_cast<double>(d.u[0]) >= probability) return;
  const auto which = static_cast<std::size_t>(d.between(0, static_cast<double>(turns.size()), 1));
  g.turn(turns[which].from, turns[which].back);
}

/// hue_turned() by up to `share` of a circle to either side.
float hue_tangent(const Draw& d, double share) {
  return static_cast<float>(std::tan(std::numbers::pi * d.between(-share, share)));
}

float about_zero(const Draw& d, double amount) {
  return static_cast<float>(d.between(-amount, amount));
}

float about_one(const Draw& d, double amount) {
  return static_cast<float>(d.between(1 - amount, 1 + amount));
}

}  // namespace

void Geometry::then(double a, double b, double c, double d) {
  const double y1 = yy * a + yx * c, y2 = yy * b + yx * d;
  const double x1 = xy * a + xx * c, x2 = xy * b + xx * d;
  yy = y1, yx = y2, xy = x1, xx = x2;
}

void Geometry::turn(const std::array<std::int8_t, 3>& from, const std::array<bool, 3>& back) {
  const auto old_axis = axis;
  const auto old_flip = flip;
  for (std::size_t a = 0; a < 3; ++a) {
    const auto b = static_cast<std::size_t>(from[a]);
    axis[a] = old_axis[b];
    flip[a] = old_flip[b] != back[a];
  }
}

const jobspec::Table<Row>& table() {
  static const jobspec::Table<Row> rows(
      "augmentation",
      {
          {"flip", "chance of a mirror image, left and right exchanged", 1, Needs::volume,
           flip<kWidth>, nullptr, Colour::add, true},
          {"flip_vertical", "chance of top and bottom exchanged", 1, Needs::volume, flip<kHeight>,
           nullptr, Colour::add, true},
          {"flip_depth", "chance of front and back exchanged, of volumes", 1, Needs::volume,
           flip<kDepth>, nullptr, Colour::add, true},
          {"crop", "pixels of padding out of which a random window is cut", 1024, Needs::volume,
           crop},
          {"translate", "moved by up to this share of the size", 1, Needs::image, translate},
          {"scale", "larger or smaller by up to this share", 0.95, Needs::image, scale},
          {"stretch", "ratio of height and width changed by up to this share", 0.95, Needs::image,
           stretch},
          {"shear", "rows slanted by up to this slope", 4, Needs::image, shear},
          {"rotate", "turned by up to so many degrees", 180, Needs::image, rotate},
          {"lens", "barrel or pincushion distortion, up to this share in the corners", 0.5,
           Needs::image, lens},
          {"brightness", "up to this added, in units of the normalised values", 10, Needs::volume,
           nullptr, about_zero, Colour::add},
          {"contrast", "distance from the image's mean changed by up to this share", 1,
           Needs::volume, nullptr, about_one, Colour::from_mean},
          {"saturation", "distance from grey changed by up to this share", 1, Needs::colours,
           nullptr, about_one, Colour::from_own_grey},
          {"rotate90",
           "chance of a turn by 90, 180 or 270 degrees, of square images and of volumes in "
           "the plane of height and width",
           1, Needs::square, rotate90, nullptr, Colour::add, true},
          {"rotate90_3d",
           "chance of one of the 23 turns of a cube by quarters, of volumes of equal "
           "sides",
           1, Needs::cube, rotate90_3d, nullptr, Colour::add, true},
          {"hue", "colours turned by up to this share of the colour circle", 0.5, Needs::colours,
           nullptr, hue_tangent, Colour::hue},
      });
  return rows;
}

}  // namespace thalweg::engine::augment
