// A curve as text: braille dots with axes.
#pragma once

#include <string>
#include <vector>

#include "cli/output/terminal.h"

namespace thalweg::cli {

struct PlotPoint {
  double x = 0, y = 0;
};

/// `size` is the whole picture with its axes. With `logarithmic`, values that are not positive are
/// left out. Points that are not finite are left out. Empty where nothing is left.
std::vector<std::string> plot(const std::vector<PlotPoint>& points, TerminalSize size,
                              bool logarithmic);

/// "▇▅▃▂▁": the values evenly thinned to `width` columns.
std::string sparkline(const std::vector<double>& values, int width);

}  // namespace thalweg::cli
