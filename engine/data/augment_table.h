// The table of augmentations: each reads its amount and its own random numbers, and changes either
// the way from an output pixel to an input pixel, or the values by a formula of augment_formulas.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/data/augment_formulas.h"

namespace thalweg::engine::augment {

/// Four numbers in [0, 1) of one change of one sample.
struct Draw {
  std::array<float, 4> u;
  /// Uniform in [low, high).
  double between(double low, double high, std::size_t which = 0) const {
    return low + (high - low) * static_cast<double>(u[which]);
  }
};

enum class Needs { volume, image, colours };  ///< (c, d, h, w) too; (c, h, w); three channels

struct Row {
  const char* name;
  const char* doc;
  double max;  ///< of the amount; 0 = off is the default
  Needs needs;
  void (*move)(Geometry&, const Draw&, double amount);  ///< or nullptr
  /// Of `colour`; or nullptr.
  float (*colour_amount)(const Draw&, double amount) = nullptr;
  Colour colour = Colour::add;
  bool stays_inside = false;  ///< `move` brings nothing in from outside the image
};

const std::vector<Row>& table();

}  // namespace thalweg::engine::augment
