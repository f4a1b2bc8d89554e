#include "db/analysis/profile.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace thalweg::db::analysis {

Times ratios_to_best(const Times& times) {
  Times ratios = times;
  const std::size_t workloads = times.empty() ? 0 : times.front().size();
  for (std::size_t w = 0; w < workloads; ++w) {
    double best = std::numeric_limits<double>::infinity();
    for (const auto& row : times)
      best = std::min(best, row.at(w));
    for (auto& row : ratios) {
      row[w] = std::isinf(best) ? best : row[w] / best;
    }
  }
  return ratios;
}

double profile_at(const std::vector<double>& ratios, double tau) {
  const auto within =
      std::count_if(ratios.begin(), ratios.end(), [&](double ratio) { return ratio <= tau; });
  return static_cast<double>(within) / static_cast<double>(ratios.size());
}

std::vector<double> profile_scores(const Times& times, double most) {
  std::vector<double> scores;
  for (const auto& ratios : ratios_to_best(times)) {
    double area = 0;
    for (const double ratio : ratios)
      area += std::max(0.0, most - ratio);
    scores.push_back(area / ((most - 1) * static_cast<double>(ratios.size())));
  }
  return scores;
}

}  // namespace thalweg::db::analysis
