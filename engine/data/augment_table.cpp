#include "engine/data/augment_table.h"

#include <cmath>
#include <numbers>

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

const std::vector<Row>& table() {
  static const std::vector<Row> rows{
      {"flip", "chance of a mirror image, left and right exchanged", 1, Needs::volume, flip<kWidth>,
       nullptr, Colour::add, true},
      {"flip_vertical", "chance of top and bottom exchanged", 1, Needs::volume, flip<kHeight>,
       nullptr, Colour::add, true},
      {"flip_depth", "chance of front and back exchanged, of volumes", 1, Needs::volume,
       flip<kDepth>, nullptr, Colour::add, true},
      {"crop", "pixels of padding out of which a random window is cut", 1024, Needs::volume, crop},
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
      {"contrast", "distance from the image's mean changed by up to this share", 1, Needs::volume,
       nullptr, about_one, Colour::from_mean},
      {"saturation", "distance from grey changed by up to this share", 1, Needs::colours, nullptr,
       about_one, Colour::from_own_grey},
  };
  return rows;
}

}  // namespace thalweg::engine::augment
