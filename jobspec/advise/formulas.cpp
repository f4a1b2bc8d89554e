// Kept apart from the rules, so that each formula is tested against numbers from elsewhere.
#include "jobspec/advise/formulas.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>

namespace thalweg::jobspec::advise {

Parallelism parallelism_for(double model_bytes, double data_bytes, double node_bytes) {
  if (model_bytes <= node_bytes) return Parallelism::data;
  return data_bytes <= node_bytes ? Parallelism::model : Parallelism::model_and_data;
}

std::int64_t usual_batch_limit(double samples) {
  return static_cast<std::int64_t>(std::floor(std::sqrt(samples)));
}

double relative_steps(double batch, double critical_batch) {
  return 1 + critical_batch / batch;
}

double relative_samples(double batch, double critical_batch) {
  return 1 + batch / critical_batch;
}

double stable_rate_share(int lag) {
  return std::sin(std::numbers::pi / (2 * (2.0 * lag + 1)));
}

double implicit_momentum(int workers) {
  return 1 - 1.0 / workers;
}

double overhead_efficiency(double overhead, int workers) {
  return (1 + overhead) / (1 + workers * overhead);
}

double overhead_for_efficiency(double efficiency, int workers) {
  const double divisor = efficiency * workers - 1;
  if (divisor <= 0) return std::numeric_limits<double>::infinity();
  return (1 - efficiency) / divisor;
}

std::int64_t parameter_servers(double parameter_bytes, double workers, double bytes_per_s,
                               double compute_s) {
  const double servers = 2 * parameter_bytes * workers / (bytes_per_s * compute_s);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(servers)));
}

double checkpoint_interval(double checkpoint_s, double failures_s) {
  if (checkpoint_s >= failures_s / 2) return failures_s;
  return std::sqrt(2 * checkpoint_s * failures_s);
}

int seeds_for_verdict(std::int64_t rows, std::int64_t looks) {
  const double pairs = static_cast<double>(looks) *
                       std::max(1.0, static_cast<double>(rows) * static_cast<double>(rows - 1) / 2);
  double orders = 2;  // C(2n, n), of n = 1
  int n = 1;
  while (2 / orders > 0.05 / pairs) {
    ++n;
    orders *= 2 * (2.0 * n - 1) / n;
  }
  return n;
}

double throughput_knee(std::vector<Throughput> measured, double share) {
  std::map<double, std::vector<double>> by_batch;
  for (const Throughput& m : measured)
    if (m.local_batch > 0 && m.samples_per_s > 0)
      by_batch[m.local_batch].push_back(m.samples_per_s);
  if (by_batch.size() < 2) return 0;
  double best = 0;
  for (auto& [batch, rates] : by_batch) {
    std::sort(rates.begin(), rates.end());
    best = std::max(best, rates[(rates.size() - 1) / 2]);
  }
  for (const auto& [batch, rates] : by_batch)
    if (rates[(rates.size() - 1) / 2] >= share * best) return batch;
  return 0;
}

namespace {

/// Of 1, 2, ... degrees of freedom; beyond them Cornish and Fisher's expansion of the normal
/// quantile is right to 0.1 %.
double t_quantile(const double (&table)[10], double normal, std::size_t freedom) {
  if (freedom == 0) return std::numeric_limits<double>::infinity();
  if (freedom <= std::size(table)) return table[freedom - 1];
  const auto n = static_cast<double>(freedom);
  const double z = normal, z3 = z * z * z, z5 = z3 * z * z;
  return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n);
}

}  // namespace

double t_quantile_95(std::size_t freedom) {
  static constexpr double table[] = {6.3138, 2.9200, 2.3534, 2.1318, 2.0150,
                                     1.9432, 1.8946, 1.8595, 1.8331, 1.8125};
  return t_quantile(table, 1.644854, freedom);
}

double t_quantile_975(std::size_t freedom) {
  static constexpr double table[] = {12.7062, 4.3027, 3.1824, 2.7764, 2.5706,
                                     2.4469,  2.3646, 2.3060, 2.2622, 2.2281};
  return t_quantile(table, 1.959964, freedom);
}

Interval geometric_mean(const std::vector<double>& values) {
  if (values.empty()) return {};
  const auto n = static_cast<double>(values.size());
  double mean = 0, squares = 0;
  for (const double value : values)
    mean += std::log(value) / n;
  for (const double value : values)
    squares += std::pow(std::log(value) - mean, 2);
  Interval found{std::exp(mean), 0, std::numeric_limits<double>::infinity()};
  if (values.size() < 2) return found;
  const double half = t_quantile_975(values.size() - 1) * std::sqrt(squares / (n - 1) / n);
  found.low = std::exp(mean - half);
  found.high = std::exp(mean + half);
  return found;
}

double settled_noise(const std::vector<NoisePoint>& points, double beta, double every) {
  constexpr double memories = 3 - 1e-9;  // whole numbers of steps count, in spite of rounding
  if (points.empty() || points.back().step * (1 - beta) < memories * every) return 0;
  std::vector<double> late;
  for (const NoisePoint& point : points)
    if (2 * point.step >= points.back().step && point.scale > 0) late.push_back(point.scale);
  return geometric_mean(late).middle;
}

std::int64_t power_of_two_below(double value) {
  if (value < 1) return 0;
  return std::int64_t{1} << static_cast<int>(std::floor(std::log2(std::min(value, 1e18))));
}

}  // namespace thalweg::jobspec::advise
