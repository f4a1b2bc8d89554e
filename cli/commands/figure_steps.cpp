// Figure 3: steps to a target against the batch, in units of the fit, so that tasks of any size
// share the axes: perfect scaling on the left, none on the right.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands/figures.h"

namespace thalweg::cli {

const char* const published_steps_source =
    "MLPerf HPC 1.0, DeepCAM's reference convergence points (mlcommons/logging, "
    "hpc_1.0.0/rcps_deepcam.json), means of 10 to 40 runs";

const std::vector<NormalizedPoint>& published_steps() {
  // Mean epochs to the target of batches (of 512: 40 runs, of the others 10 or 11), 121,266 samples
  // an epoch, and the least-squares fit of the logs of their steps.
  constexpr double samples = 121'266, s_min = 807, b_crit = 1148;
  static const std::vector<NormalizedPoint> all = [] {
    std::vector<NormalizedPoint> points;
    for (const auto& [batch, epochs] :
         {std::pair{128.0, 9.0}, std::pair{256.0, 9.0}, std::pair{512.0, 11.15},
          std::pair{1024.0, 13.0}, std::pair{2048.0, 22.9}})
      points.push_back(
          {batch / b_crit, epochs * samples / batch / s_min, epochs * samples / (s_min * b_crit)});
    return points;
  }();
  return all;
}

namespace {

Figure make_steps_figure(Context& context, const FigureRuns& runs) {
  Figure figure{"Steps to the target", "batch / critical batch", "steps / fewest steps"};
  FigureSeries model{"1 + critical batch / batch", "McCandlish et al., arXiv:1812.06162"};
  model.scattered = false;
  model.points = line_of(0.01, 100, [](double batch) { return 1 + 1 / batch; });
  FigureSeries deepcam{"DeepCAM", published_steps_source};
  for (const NormalizedPoint& point : published_steps())
    deepcam.points.push_back({point.batch, point.steps});
  figure.series = {model, deepcam};
  for (const auto& [id, answer] : ask_each(context, runs, "studies/batch", figure)) {
    if (!flag_at(answer, "fitted")) {
      figure.notes.push_back(fmt::format(
          "sweep {}: no fit; it needs three batches that reach the target", id.to_string()));
      continue;
    }
    FigureSeries own{"sweep " + id.to_string()};
    const double s_min = number_at(answer, "s_min").value_or(0),
                 b_crit = number_at(answer, "b_crit").value_or(0);
    for (const Json& point : list_at(answer, "rows")) {
      const double batch = number_at(point, "batch").value_or(0);
      const auto steps = number_at(point, "steps");
      if (!steps || !std::isfinite(*steps)) continue;
      own.points.push_back({batch / b_crit, *steps / s_min});
      own.names.push_back(fmt::format("batch {}", batch));
    }
    figure.series.push_back(std::move(own));
  }
  return figure;
}

}  // namespace

FigureRow steps_figure() {
  return {"3", "steps to the target against the batch, in units of the fit", make_steps_figure};
}

}  // namespace thalweg::cli
