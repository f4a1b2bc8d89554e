// Figure 4: time against computing to a target: what is saved of the one costs more of the other.
// Each frontier in units of its own least time and least cost, so that they share the axes; the
// published curve is (S / S_min - 1)(E / E_min - 1) = 1 of steps and samples.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/commands/figures.h"
#include "cli/output/format.h"

namespace thalweg::cli {
namespace {

/// A frontier for each target, as times and node times.
std::map<double, std::vector<PlotPoint>> frontiers_of(const Json& answer) {
  std::map<double, std::vector<PlotPoint>> frontiers;
  for (const Json& row : list_at(answer, "rows")) {
    const auto seconds = number_at(row, "seconds"), cost = number_at(row, "node_seconds");
    if (seconds && cost && *seconds > 0 && *cost > 0)
      frontiers[number_at(row, "target").value_or(0)].push_back({*seconds, *cost});
  }
  return frontiers;
}

std::vector<PlotPoint> normalized(std::vector<PlotPoint> points) {
  PlotPoint least = points.front();
  for (const PlotPoint& p : points)
    least = {std::min(least.x, p.x), std::min(least.y, p.y)};
  std::sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.x < b.x; });
  for (PlotPoint& p : points)
    p = {p.x / least.x, p.y / least.y};
  return points;
}

Figure make_pareto_figure(Context& context, const FigureRuns& runs) {
  Figure figure{"Time against cost to a target", "time / least time",
                "node time / least node time"};
  FigureSeries model{"(x - 1)(y - 1) = 1", "McCandlish et al., arXiv:1812.06162"};
  model.scattered = false;
  model.points = line_of(1.05, 21, [](double time) { return 1 + 1 / (time - 1); });
  FigureSeries deepcam{"DeepCAM, steps and samples", published_steps_source};
  for (const NormalizedPoint& point : published_steps())
    deepcam.points.push_back({point.steps, point.samples});
  figure.series = {model, deepcam};
  for (const auto& [id, answer] : ask_each(context, runs, "studies/pareto", figure)) {
    const auto frontiers = frontiers_of(answer);
    if (frontiers.empty())
      figure.notes.push_back(
          fmt::format("sweep {}: no trial has reached the target", id.to_string()));
    for (const auto& [target, points] : frontiers) {
      FigureSeries own{fmt::format("sweep {} to {}", id.to_string(), format_number(target))};
      own.points = normalized(points);
      own.scattered = own.points.size() == 1;
      figure.series.push_back(std::move(own));
    }
  }
  return figure;
}

}  // namespace

FigureRow pareto_figure() {
  return {"4", "time against cost to the target: what nothing beats in both", make_pareto_figure};
}

}  // namespace thalweg::cli
