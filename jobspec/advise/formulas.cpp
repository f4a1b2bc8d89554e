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

int seeds_for_verdict(std::int64_t rows) {
  const double pairs = std::max(1.0, static_cast<double>(rows) * static_cast<double>(rows - 1) / 2);
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

std::size_t worth_up_to(const std::vector<Speed>& speeds) {
  constexpr double worth = 0.5;
  for (std::size_t i = 0; i + 1 < speeds.size(); ++i) {
    const double gain = speeds[i + 1].samples_per_s / speeds[i].samples_per_s - 1;
    const double cost = speeds[i + 1].ranks / speeds[i].ranks - 1;
    if (cost > 0 && gain < worth * cost) return i;
  }
  return speeds.size();
}

std::int64_t power_of_two_below(double value) {
  if (value < 1) return 0;
  return std::int64_t{1} << static_cast<int>(std::floor(std::log2(std::min(value, 1e18))));
}

}  // namespace thalweg::jobspec::advise
