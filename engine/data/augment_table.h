// The table of augmentations: each reads its amount and its own random numbers, and changes either
// the way from an output pixel to an input pixel, or the values by a formula of augment_formulas.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/data/augment_formulas.h"
#include "jobspec/table.h"

namespace thalweg::engine::augment {

/// Four numbers in [0, 1) of one change of one sample.
struct Draw {
  std::array<float, 4> u;
  /// Uniform in [low, high).
  double between(double low, double high, std::size_t which = 0) const {
    return low + (high - low) * static_cast<double>(u[which]);
  }
};

enum class Needs {
  volume,   ///< (c, d, h, w) or (c, h, w)
  square,   ///< of these, with h = w
  cube,     ///< (c, d, h, w) with d = h = w
  image,    ///< (c, h, w)
  colours,  ///< (c, h, w) of three channels
};

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

/// What a sample gets is drawn by a row's place: new rows go to the end.
const jobspec::Table<Row>& table();

}  // namespace thalweg::engine::augment
