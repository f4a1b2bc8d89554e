// Beyond what was measured a sum of speeds is a bound that is easy to explain and, as the test with
// fewer nodes says, how far off it is here; a fitted law of communication would need more numbers
// of nodes than most records have.
#include "jobspec/advise/forecast.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace thalweg::jobspec::advise {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double bottleneck_of(const std::vector<Speed>& measured) {
  const std::size_t last_worth = worth_up_to(measured);
  return last_worth < measured.size() ? measured[last_worth + 1].ranks : infinity;
}

}  // namespace

ClusterSpeed::ClusterSpeed(std::vector<Speed> measured)
    : measured_(std::move(measured)), bottleneck_(bottleneck_of(measured_)) {}

bool ClusterSpeed::is_measured(double nodes) const {
  return std::any_of(measured_.begin(), measured_.end(),
                     [&](const Speed& speed) { return speed.ranks == nodes; });
}

double ClusterSpeed::at(double nodes) const {
  const Speed& first = measured_.front();
  const Speed& last = measured_.back();
  if (nodes <= first.ranks) return first.samples_per_s * nodes / first.ranks;
  if (nodes > last.ranks) {
    if (bottleneck_ == infinity) return last.samples_per_s * nodes / last.ranks;
    double most = 0;
    for (const Speed& speed : measured_)
      most = std::max(most, speed.samples_per_s);
    return most;
  }
  const auto above = std::find_if(measured_.begin(), measured_.end(),
                                  [&](const Speed& speed) { return speed.ranks >= nodes; });
  const Speed& below = *std::prev(above);
  const double share = (nodes - below.ranks) / (above->ranks - below.ranks);
  return below.samples_per_s + share * (above->samples_per_s - below.samples_per_s);
}

double ClusterSpeed::mape() const {
  if (measured_.size() < 2) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  for (std::size_t i = 1; i < measured_.size(); ++i) {
    const auto end = measured_.begin() + static_cast<std::ptrdiff_t>(i);
    const double predicted = ClusterSpeed({measured_.begin(), end}).at(measured_[i].ranks);
    sum += std::abs(predicted - measured_[i].samples_per_s) / measured_[i].samples_per_s;
  }
  return sum / static_cast<double>(measured_.size() - 1);
}

double expected_seconds(const Interrupted& run) {
  const double m = run.failures_s;
  if (!std::isfinite(m)) return run.work_s;
  const double restarts = m * std::exp(run.restart_s / m);
  const double without = restarts * std::expm1(run.work_s / m);
  if (!(run.checkpoint_s > 0)) return without;
  const double interval = checkpoint_interval(run.checkpoint_s, m);
  const double with =
      restarts * std::expm1((interval + run.checkpoint_s) / m) * run.work_s / interval;
  return std::min(with, without);
}

}  // namespace thalweg::jobspec::advise
