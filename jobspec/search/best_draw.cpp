// Which draw of a study wins: by the mean over its seeds, and only where every seed has a value.
// One that diverges with one seed of two is no winner.
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "jobspec/search/search.h"
#include "jobspec/search/study.h"

namespace thalweg::jobspec {
namespace {

/// Of draws of one configuration.
struct Tried {
  std::int64_t configuration = 0;
  double sum = 0;
  int seeds = 0;
  bool complete = true;  ///< every seed has a value
  double mean() const { return sum / seeds; }
};

std::vector<Tried> by_configuration(const std::vector<Observed>& draws, const Metric& metric) {
  std::map<std::int64_t, Tried> found;
  for (const Observed& draw : draws) {
    Tried& tried = found[draw.configuration];
    tried.configuration = draw.configuration;
    tried.seeds += 1;
    const bool counts =
        draw.state == Observed::State::ended && draw.value && std::isfinite(*draw.value);
    tried.complete = tried.complete && counts;
    if (counts) tried.sum += metric.goal == Goal::maximize ? -*draw.value : *draw.value;
  }
  std::vector<Tried> all;
  for (const auto& [number, tried] : found)
    all.push_back(tried);
  return all;
}

}  // namespace

std::optional<BestDraw> best_draw(const std::vector<Observed>& draws, const Metric& metric) {
  const std::vector<Tried> all = by_configuration(draws, metric);
  const Tried* best = nullptr;
  std::int64_t without = 0;
  for (const Tried& tried : all) {
    if (!tried.complete)
      ++without;
    else if (!best || tried.mean() < best->mean())
      best = &tried;
  }
  if (!best) return std::nullopt;
  return BestDraw{best->configuration,
                  fmt::format("best of {} draws: configuration {}, {} {:.4g}{}", all.size(),
                              best->configuration, metric.name,
                              metric.goal == Goal::maximize ? -best->mean() : best->mean(),
                              without > 0 ? fmt::format("; {} without a value", without) : "")};
}

}  // namespace thalweg::jobspec
