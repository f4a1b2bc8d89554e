// Curves as an SVG file, for papers and web pages.
#pragma once

#include <string>
#include <vector>

#include "cli/output/plot.h"

namespace thalweg::cli {

struct SvgOptions {
  std::string title, x_name, y_name;
  bool logarithmic = false;  ///< y; values that are not positive are left out
  bool log_x = false;        ///< the same of x
};

/// The series with their bands over common axes, and a legend of their labels. No scripts, no
/// fonts: a browser, LaTeX (by Inkscape) and GitHub show it. Points that are not finite are left
/// out. Empty where nothing is left.
std::string svg_plot(const SvgOptions& options, const std::vector<PlotSeries>& series);

}  // namespace thalweg::cli
