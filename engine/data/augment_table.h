// The table of augmentations: each reads its amount and its own random numbers, and changes either
// the way from an output pixel to an input pixel, or the values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "jobspec/schema.h"

namespace thalweg::engine::augment {

/// Four numbers in [0, 1) of one change of one sample.
struct Draw {
  std::array<float, 4> u;
  /// Uniform in [low, high).
  double between(double low, double high, std::size_t which = 0) const {
    return low + (high - low) * static_cast<double>(u[which]);
  }
};

/// Where an output pixel comes from. Flips and shifts are whole pixels along (d, h, w); the rest is
/// for (h, w), about the image's centre.
struct Geometry {
  std::array<bool, 3> flip{};
  std::array<std::int64_t, 3> shift{};
  std::array<std::int64_t, 3> size{};  ///< of the image; not to be changed
  /// input = matrix * output + offset, (y, x) in pixels from the centre
  double yy = 1, yx = 0, xy = 0, xx = 1, y0 = 0, x0 = 0;
  double lens = 0;  ///< then input *= 1 + lens r^2, r = 1 in the corner

  bool whole_pixels() const {
    return yy == 1 && yx == 0 && xy == 0 && xx == 1 && y0 == 0 && x0 == 0 && lens == 0;
  }
  /// matrix = matrix * (a b; c d): what is asked for later acts on the output first.
  void then(double a, double b, double c, double d);
};

/// An image in place: channels x pixels.
struct Pixels {
  float* values;
  std::size_t channels, pixels;
};

enum class Needs { volume, image, colours };  ///< (c, d, h, w) too; (c, h, w); three channels

struct Row {
  const char* name;
  const char* doc;
  double max;  ///< of the amount; 0 = off is the default
  Needs needs;
  void (*move)(Geometry&, const Draw&, double amount);        ///< or nullptr
  void (*colour)(const Pixels&, const Draw&, double amount);  ///< or nullptr
};

const std::vector<Row>& table();

}  // namespace thalweg::engine::augment
