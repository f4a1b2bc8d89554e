// Figure 2: the gradient noise scale, which a run measures by the way, against the critical batch,
// which takes a sweep over batches: that the one tells the order of the other.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/commands/figures.h"

namespace thalweg::cli {

const char* const published_noise_source = "McCandlish et al., arXiv:1812.06162, table 1";

const std::vector<PublishedNoise>& published_noise() {
  static const std::vector<PublishedNoise> all{{"MNIST", 900, 200},
                                               {"SVHN", 4000, 500},
                                               {"CIFAR-10", 2000, 900},
                                               {"ImageNet", 30'000, 15'000},
                                               {"Autoencoder", 2, 40},
                                               {"VAE", 10, 200},
                                               {"Billion Word (tokens)", 150'000, 100'000},
                                               {"Dota 1v1", 300'000, 3'000'000}};
  return all;
}

namespace {

Figure make_noise_figure(Context& context, const FigureRuns& runs) {
  Figure figure{"Noise scale and critical batch", "gradient noise scale", "critical batch"};
  FigureSeries equal{"critical batch = noise scale", published_noise_source};
  equal.scattered = false;
  equal.points = {{1, 1}, {3e6, 3e6}};
  FigureSeries papers{"published", published_noise_source};
  for (const PublishedNoise& each : published_noise()) {
    papers.points.push_back({each.noise_scale, each.critical_batch});
    papers.names.emplace_back(each.task);
  }
  figure.series = {equal, papers};
  FigureSeries own{"your sweeps"};
  for (const auto& [id, answer] : ask_each(context, runs, "studies/batch", figure)) {
    const auto noise = number_at(answer, "noise_scale"), critical = number_at(answer, "b_crit");
    if (!flag_at(answer, "fitted"))
      figure.notes.push_back(
          fmt::format("sweep {}: no critical batch; it needs three batches that reach the target",
                      id.to_string()));
    else if (!noise || !std::isfinite(*noise))
      figure.notes.push_back(fmt::format(
          "sweep {}: no noise scale was measured; runs with more than one shard measure it",
          id.to_string()));
    else {
      own.points.push_back({*noise, *critical});
      own.names.push_back(id.to_string());
    }
  }
  if (!own.points.empty()) figure.series.push_back(own);
  return figure;
}

}  // namespace

FigureRow noise_figure() {
  return {"2", "critical batches against gradient noise scales", make_noise_figure};
}

}  // namespace thalweg::cli
