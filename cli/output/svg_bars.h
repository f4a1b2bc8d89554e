// Bars of parts as an SVG file: what a whole is made of.
#pragma once

#include <string>
#include <vector>

namespace thalweg::cli {

struct BarPart {
  std::string name;  ///< the same name has the same colour in every bar
  double value = 0;
};
struct Bar {
  std::string label;
  std::vector<BarPart> parts;  ///< from left to right
};

/// The bars below each other over one axis that begins at 0, and a legend of the parts' names.
/// Values that are not positive are left out; empty where nothing is left.
std::string svg_bars(const std::string& title, const std::string& unit,
                     const std::vector<Bar>& bars);

}  // namespace thalweg::cli
