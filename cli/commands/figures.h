// The five pictures in which the guidelines for distributed training sum up how runs grow, as data:
// published points beside one's own.
#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/studies.h"
#include "cli/output/plot.h"

namespace thalweg::cli {

struct FigureSeries {
  std::string label;
  std::string source{};  ///< of published points; empty: one's own runs
  std::vector<PlotPoint> points{};
  std::vector<std::string> names{};  ///< of the points, or empty
  bool scattered = true;             ///< points; else a line
};

struct Figure {
  std::string title, x_name, y_name;
  bool log_x = true, log_y = true;
  std::vector<FigureSeries> series{};
  std::vector<std::string> notes{};  ///< what one's own runs lack for it
};

/// Of which runs one's own points are to be.
struct FigureRuns {
  bool own = true;                    ///< false: published points only
  std::vector<jobspec::Id> sweeps{};  ///< none: all of the record, or the newest
};

/// A row of the table: one function and one file each.
struct FigureRow {
  const char* number;
  const char* doc;
  Figure (*make)(Context& context, const FigureRuns& runs);
};
FigureRow compute_figure();   ///< 1
FigureRow noise_figure();     ///< 2
FigureRow steps_figure();     ///< 3
FigureRow pareto_figure();    ///< 4
FigureRow gradient_figure();  ///< 5

/// A critical batch that was published, with the noise scale of the same task.
struct PublishedNoise {
  const char* task;
  double noise_scale, critical_batch;
};
/// McCandlish et al., arXiv:1812.06162, table 1: means over training.
const std::vector<PublishedNoise>& published_noise();
extern const char* const published_noise_source;

/// Steps to a target at a batch in units of their fit: batch / B_crit, steps / S_min, samples /
/// E_min.
struct NormalizedPoint {
  double batch, steps, samples;
};
/// Of MLPerf HPC's reference convergence points of DeepCAM.
const std::vector<NormalizedPoint>& published_steps();
extern const char* const published_steps_source;

/// Answers of GET /v1/<study>?sweeps=N to one sweep after the other, where each has one; else a
/// note says why not.
std::vector<std::pair<jobspec::Id, Json>> ask_each(Context& context, const FigureRuns& runs,
                                                   const std::string& study, Figure& figure);

/// As many points as a line needs that is straight on no scale, from low to high on a logarithmic
/// one. `curve` maps x to y.
template <class Curve>
std::vector<PlotPoint> line_of(double low, double high, Curve curve) {
  constexpr int segments = 60;
  std::vector<PlotPoint> points;
  for (int i = 0; i <= segments; ++i) {
    const double x = low * std::pow(high / low, static_cast<double>(i) / segments);
    points.push_back({x, curve(x)});
  }
  return points;
}

}  // namespace thalweg::cli
