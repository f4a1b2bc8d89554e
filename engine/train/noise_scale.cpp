#include "engine/train/noise_scale.h"

#include <cmath>
#include <stdexcept>

#include "engine/train/metrics.h"

namespace thalweg::engine {

void NoiseScale::add(const NoisePair& pair) {
  const double b = pair.small_batch, large = pair.large_batch;
  const double squared_norm = (large * pair.large_squares - b * pair.small_squares) / (large - b);
  const double trace = (pair.small_squares - pair.large_squares) / (1 / b - 1 / large);
  if (!std::isfinite(squared_norm) || !std::isfinite(trace)) return;
  squared_norm_ = beta_ * squared_norm_ + (1 - beta_) * squared_norm;
  trace_ = beta_ * trace_ + (1 - beta_) * trace;
  weight_ = beta_ * weight_ + (1 - beta_);
}

std::vector<MetricPoint> NoiseScale::report(std::int64_t step) const {
  if (weight_ == 0) return {};
  std::vector<MetricPoint> points;
  if (const auto samples = b_simple()) points.push_back({metric::b_simple, step, *samples});
  points.push_back({metric::noise_trace, step, trace()});
  points.push_back({metric::noise_squared_norm, step, squared_norm()});
  return points;
}

std::optional<double> NoiseScale::b_simple() const {
  if (trace_ > 0 && squared_norm_ > 0) return trace_ / squared_norm_;
  return std::nullopt;
}

void NoiseScale::restore(const std::vector<double>& state) {
  if (state.empty()) return;
  if (state.size() != 3)
    throw std::invalid_argument("the noise scale keeps 3 numbers, not " +
                                std::to_string(state.size()));
  trace_ = state[0];
  squared_norm_ = state[1];
  weight_ = state[2];
}

}  // namespace thalweg::engine
