// A sweep has some hundred results at most that matter: dense matrices, plain loops.
#include "jobspec/gaussian_process.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace thalweg::jobspec {
namespace {

constexpr std::array lengths_tried{0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2};
constexpr std::array noises_tried{1e-6, 1e-4, 1e-3, 1e-2, 5e-2, 2e-1, 1.0};
constexpr double usual_length = 0.4, usual_noise = 1e-3;
constexpr int rounds = 3;
/// Keeps the matrix positive where points coincide.
constexpr double min_noise = 1e-8;

/// In place: x becomes the solution of L x = b.
void solve_lower(const std::vector<double>& lower, std::vector<double>& x) {
  const std::size_t n = x.size();
  for (std::size_t i = 0; i < n; ++i) {
    double sum = x[i];
    for (std::size_t j = 0; j < i; ++j)
      sum -= lower[i * n + j] * x[j];
    x[i] = sum / lower[i * n + i];
  }
}

/// In place: x becomes the solution of transposed(L) x = b.
void solve_upper(const std::vector<double>& lower, std::vector<double>& x) {
  const std::size_t n = x.size();
  for (std::size_t i = n; i-- > 0;) {
    x[i] /= lower[i * n + i];
    for (std::size_t j = 0; j < i; ++j)
      x[j] -= lower[i * n + j] * x[i];
  }
}

}  // namespace

GaussianProcess::GaussianProcess(std::vector<Point> points, const std::vector<double>& values,
                                 Matern covariance)
    : points_(std::move(points)),
      values_(values),
      covariance_(covariance),
      lengths_(points_.front().size(), usual_length),
      noise_(usual_noise) {
  const auto n = static_cast<double>(values_.size());
  for (const double value : values_)
    shift_ += value / n;
  double variance = 0;
  for (const double value : values_)
    variance += (value - shift_) * (value - shift_) / n;
  if (variance > 0) scale_ = std::sqrt(variance);
  for (double& value : values_)
    value = (value - shift_) / scale_;
  if (values_.size() > 1 && variance > 0) choose_lengths();
  factorise();
}

double GaussianProcess::covariance(const Point& a, const Point& b) const {
  double squared = 0;
  for (std::size_t d = 0; d < a.size(); ++d) {
    const double distance = (a[d] - b[d]) / lengths_[d];
    squared += distance * distance;
  }
  const bool smooth = covariance_ == Matern::five_halves;
  const double r = std::sqrt((smooth ? 5 : 3) * squared);
  return (1 + r + (smooth ? r * r / 3 : 0)) * std::exp(-r);
}

double GaussianProcess::factorise() {
  const std::size_t n = points_.size();
  lower_.assign(n * n, 0);
  double log_determinant = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = covariance(points_[i], points_[j]);
      if (i == j) sum += noise_ + min_noise;
      for (std::size_t k = 0; k < j; ++k)
        sum -= lower_[i * n + k] * lower_[j * n + k];
      lower_[i * n + j] = i == j ? std::sqrt(std::max(sum, min_noise)) : sum / lower_[j * n + j];
      if (i == j) log_determinant += std::log(lower_[i * n + i]);
    }
  weights_ = values_;
  solve_lower(lower_, weights_);
  double squares = 0;
  for (const double each : weights_)
    squares += each * each;
  solve_upper(lower_, weights_);
  const auto count = static_cast<double>(n);
  amplitude_ = squares > 0 ? squares / count : 1;
  return 0.5 * count * std::log(amplitude_) + log_determinant;
}

/// One coordinate after the other, again and again: the best of the grid with the others as they
/// are; then, twice, the best of what lies between two values of the grid.
void GaussianProcess::choose_lengths() {
  const auto cost = [&] {
    double total = factorise();
    for (const double length : lengths_) {
      const double off = std::log(length / usual_length);
      total += off * off / 2;
    }
    return total;
  };
  const auto choose = [&](double& which, const auto& tried) {
    double best = which, least = std::numeric_limits<double>::infinity();
    for (const double each : tried) {
      which = each;
      const double now = cost();
      if (now < least) {
        least = now;
        best = each;
      }
    }
    which = best;
  };
  for (int round = 0; round < rounds; ++round) {
    for (double& length : lengths_)
      choose(length, lengths_tried);
    choose(noise_, noises_tried);
  }
  for (const double factor : {std::sqrt(2.0), std::sqrt(std::sqrt(2.0))}) {
    for (double& length : lengths_)
      choose(length, std::array{length, length / factor, length * factor});
    choose(noise_, std::array{noise_, noise_ / (factor * factor), noise_ * factor * factor});
  }
}

GaussianProcess::Prediction GaussianProcess::at(const Point& point) const {
  std::vector<double> to_all;
  to_all.reserve(points_.size());
  double mean = 0;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    to_all.push_back(covariance(points_[i], point));
    mean += to_all.back() * weights_[i];
  }
  solve_lower(lower_, to_all);
  double known = 0;
  for (const double each : to_all)
    known += each * each;
  return {shift_ + scale_ * mean, scale_ * std::sqrt(amplitude_ * std::max(0.0, 1 - known))};
}

double GaussianProcess::mean(const Point& point) const {
  double mean = 0;
  for (std::size_t i = 0; i < points_.size(); ++i)
    mean += covariance(points_[i], point) * weights_[i];
  return shift_ + scale_ * mean;
}

void GaussianProcess::believe(const Point& point) {
  const double value = (at(point).mean - shift_) / scale_;
  points_.push_back(point);
  values_.push_back(value);
  const double amplitude = amplitude_;
  factorise();
  amplitude_ = amplitude;  // a value that was made up tells nothing of it
}

double expected_improvement(const GaussianProcess::Prediction& prediction, double best) {
  const double better = best - prediction.mean;
  if (prediction.deviation <= 0) return std::max(0.0, better);
  const double z = better / prediction.deviation;
  const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
  const double below = std::erfc(-z / std::numbers::sqrt2) / 2;
  return better * below + prediction.deviation * density;
}

}  // namespace thalweg::jobspec
