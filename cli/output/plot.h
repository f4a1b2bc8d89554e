// Curves as text: braille dots with axes.
#pragma once

#include <string>
#include <vector>

#include "cli/output/terminal.h"

namespace thalweg::cli {

struct PlotPoint {
  double x = 0, y = 0;
};

/// From low to high at x.
struct PlotBand {
  double x = 0, low = 0, high = 0;
};

/// Of how many curves the median is: of those that reach a step the ones that are finite there.
struct Counted {
  std::size_t finite = 0, reached = 0;
};

/// One curve of a picture. On a terminal drawn in dots of this colour, or with this letter in place
/// of dots where it is set; its band is shaded.
struct PlotSeries {
  std::vector<PlotPoint> points;
  Tint tint = Tint::none;
  char letter = 0;
  std::string label = {};
  std::vector<PlotBand> band = {};
  bool scattered = false;             ///< points without lines between them
  std::vector<Counted> counted = {};  ///< of a median, one for each point
};

/// Of several values: from the smallest to the largest, or from the first quartile to the third
/// (interpolated as NumPy's percentile does).
enum class Band { range, quartiles };

struct PlotAxes {
  std::string x_name = {};
  bool log_x = false, log_y = false;  ///< then values that are not positive are left out
};

/// Several curves as one: at each step that one of them reports, the median of those that reach it
/// (between two points a straight line) and their band, where at least half of them reach that
/// step. Of these the ones that are finite count; where they are less than half of them, or there
/// is none, the median and its band are NaN.
PlotSeries median_of(const std::vector<std::vector<PlotPoint>>& curves, Band band = Band::range);

/// Several curves over the same axes; where they cross, the later one is seen. `size` is the whole
/// picture with its axes. A curve has a gap where a point is not finite. Empty where nothing is
/// left.
std::vector<std::string> plot(const std::vector<PlotSeries>& series, TerminalSize size,
                              const PlotAxes& axes, const Palette& palette);

/// "▇▅▃▂▁": the values evenly thinned to `width` columns.
std::string sparkline(const std::vector<double>& values, int width);

}  // namespace thalweg::cli
