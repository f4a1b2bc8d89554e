// Beyond what was measured a law is fitted where enough runs are known; else a sum of speeds is a
// bound that is easy to explain and, as the test with fewer nodes says, how far off it is here.
#include "jobspec/advise/forecast.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "jobspec/advise/rules.h"

namespace thalweg::jobspec::advise {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<Speed> medians_of(const std::vector<Speed>& runs) {
  std::map<double, std::vector<double>> by_nodes;
  for (const Speed& run : runs)
    by_nodes[run.ranks].push_back(run.samples_per_s);
  std::vector<Speed> medians;
  for (auto& [nodes, speeds] : by_nodes)
    medians.push_back({nodes, median_of(std::move(speeds))});
  return medians;
}

}  // namespace

ClusterSpeed::ClusterSpeed(const std::vector<Speed>& runs)
    : runs_(runs), measured_(medians_of(runs)), law_(fit_scaling(runs, false)) {}

bool ClusterSpeed::is_measured(double nodes) const {
  return std::any_of(measured_.begin(), measured_.end(),
                     [&](const Speed& speed) { return speed.ranks == nodes; });
}

double ClusterSpeed::bottleneck() const {
  const auto law = fit_scaling(runs_);
  if (!law) return infinity;
  const auto found = std::find_if(measured_.begin(), measured_.end(), [&](const Speed& speed) {
    return law->hardly_gains(speed.ranks);
  });
  return found == measured_.end() ? infinity : found->ranks;
}

double ClusterSpeed::at(double nodes) const {
  const Speed& first = measured_.front();
  const Speed& last = measured_.back();
  if (nodes <= first.ranks) return first.samples_per_s * nodes / first.ranks;
  if (nodes > last.ranks) {
    // Noise may tell a law of more than the sum of the nodes.
    const double sum = nodes / last.ranks;
    const double by_law = law_ ? law_->at(nodes) / law_->at(last.ranks) : sum;
    return last.samples_per_s * (by_law > 0 ? std::min(by_law, sum) : sum);
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
    std::vector<Speed> below;
    std::copy_if(runs_.begin(), runs_.end(), std::back_inserter(below),
                 [&](const Speed& run) { return run.ranks < measured_[i].ranks; });
    const double predicted = ClusterSpeed(below).at(measured_[i].ranks);
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
