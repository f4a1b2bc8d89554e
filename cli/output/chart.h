// Charts of a page, as data for its script (cli/page/): what is drawn, not how.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/output/plot.h"
#include "cli/output/svg_bars.h"
#include "cli/output/svg_plot.h"

namespace thalweg::cli {

/// Curves, steps and dots over common axes, as svg_plot() draws them. `id`: of a figure
/// (html_figure). Numbers that are not finite become null: a gap.
nlohmann::json line_chart(const std::string& id, const SvgOptions& options,
                          const std::vector<PlotSeries>& series);
/// As svg_bars().
nlohmann::json bar_chart(const std::string& id, const std::string& title, const std::string& unit,
                         const std::vector<Bar>& bars);

/// From one time to another in a row.
struct Span {
  std::string row, name;  ///< the same name has the same colour in every row
  double from = 0, to = 0;
};
/// Spans below each other over one axis.
nlohmann::json span_chart(const std::string& id, const std::string& title, const std::string& unit,
                          const std::vector<Span>& spans);

/// An axis of parallel coordinates: numbers, or texts that are spread in their order.
struct ParallelAxis {
  std::string name;
  std::vector<std::string> texts;  ///< of each line; empty where it has none
};
/// A line over all axes for each configuration, the best first.
nlohmann::json parallel_chart(const std::string& id, const std::vector<ParallelAxis>& axes);

}  // namespace thalweg::cli
