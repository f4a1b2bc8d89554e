// Figure 5: how good the gradient of a batch is. Of B samples it is the true gradient G with noise
// of covariance Sigma / B, so its cosine with G is about 1 / sqrt(1 + B_simple / B), where B_simple
// = tr(Sigma) / |G|^2 is the gradient noise scale (McCandlish et al., arXiv:1812.06162): .71 at B =
// B_simple, where a larger batch begins to gain little.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/commands/figures.h"
#include "cli/output/format.h"
#include "daemon/api/client.h"
#include "daemon/api/messages.h"
#include "jobspec/metric_names.h"

namespace thalweg::cli {
namespace {

constexpr double fewest = 1, most = 1e6;

std::vector<PlotPoint> cosines(double noise_scale) {
  return line_of(fewest, most,
                 [&](double batch) { return 1 / std::sqrt(1 + noise_scale / batch); });
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// By thirds of training: the noise scale grows as the loss falls.
void add_own(Context& context, const jobspec::Id& id, Figure& figure) {
  const std::string path = fmt::format("{}/curves?metric={}&points=300", path_of(id),
                                       daemon::api::url_encode(jobspec::metric::b_simple));
  std::vector<PlotPoint> points;
  try {
    const Json answer = context.controller().get(path);
    for (const Json& curve : list_at(answer, "curves"))
      for (const Json& point : list_at(curve, "points"))
        if (const auto step = number_of(point[0]), value = number_of(point[1]);
            step && value && std::isfinite(*value) && *value > 0)
          points.push_back({*step, *value});
  } catch (const daemon::api::ApiError& error) {
    if (error.status() != 404) throw;
  }
  if (points.empty()) {
    figure.notes.push_back(fmt::format(
        "sweep {}: no noise scale was measured; runs with more than one shard measure it",
        id.to_string()));
    return;
  }
  std::sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.x < b.x; });
  const std::size_t third = std::max<std::size_t>(1, points.size() / 3);
  const auto of = [&](std::size_t begin, std::size_t end) {
    std::vector<double> values;
    for (std::size_t i = begin; i < end; ++i)
      values.push_back(points[i].y);
    return median(values);
  };
  for (const auto& [when, scale] : {std::pair{"early", of(0, third)},
                                    std::pair{"late", of(points.size() - third, points.size())}}) {
    FigureSeries own{
        fmt::format("sweep {}, {} (noise scale {})", id.to_string(), when, format_number(scale))};
    own.points = cosines(scale);
    own.scattered = false;
    figure.series.push_back(std::move(own));
  }
}

Figure make_gradient_figure(Context& context, const FigureRuns& runs) {
  Figure figure{"Quality of a batch's gradient", "batch", "cosine with the true gradient"};
  figure.log_y = false;
  for (const PublishedNoise& each : published_noise()) {
    if (std::string_view(each.task) != "MNIST" && std::string_view(each.task) != "ImageNet")
      continue;
    FigureSeries papers{
        fmt::format("{} (noise scale {})", each.task, format_number(each.noise_scale)),
        published_noise_source};
    papers.points = cosines(each.noise_scale);
    papers.scattered = false;
    figure.series.push_back(std::move(papers));
  }
  if (!runs.own) return figure;
  std::vector<jobspec::Id> sweeps = runs.sweeps;
  if (sweeps.empty()) sweeps.push_back(id_or_newest(context, ""));
  for (const jobspec::Id& id : sweeps)
    add_own(context, id, figure);
  return figure;
}

}  // namespace

FigureRow gradient_figure() {
  return {"5", "how good a batch's gradient is, by the noise scale", make_gradient_figure};
}

}  // namespace thalweg::cli
