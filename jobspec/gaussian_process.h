// Regression with a Gaussian process, and how much better than the best a new point may be.
#pragma once

#include <cstddef>
#include <vector>

namespace thalweg::jobspec {

using Point = std::vector<double>;  ///< each coordinate from 0 to 1

/// How smooth a function is taken to be: 5/2 has two derivatives everywhere, 3/2 may bend sharply.
enum class Matern { three_halves, five_halves };

/// Matern covariance with a length of its own for each coordinate, and noise (Rasmussen and
/// Williams, Gaussian Processes for Machine Learning, 2006, eqs. 2.25, 2.26, 4.17). Lengths and
/// noise are those of a grid, refined twice, that make the values likeliest (eq. 5.8), with a weak
/// preference for medium lengths; the amplitude follows. Deterministic. Cost: n^3, some hundred
/// times.
class GaussianProcess {
 public:
  /// At least one point; all of one size.
  GaussianProcess(std::vector<Point> points, const std::vector<double>& values, Matern covariance);

  struct Prediction {
    double mean = 0, deviation = 0;  ///< in the units of the values, without noise
  };
  Prediction at(const Point& point) const;
  /// at(point).mean in a fraction of the time: n steps instead of n^2.
  double mean(const Point& point) const;
  /// Takes its own prediction for the value at `point`, for one that is not known yet (Ginsbourger
  /// et al. 2010, "kriging believer").
  void believe(const Point& point);

  const std::vector<double>& lengths() const { return lengths_; }
  double noise() const { return noise_; }  ///< variance of the noise over that of the function

 private:
  /// Factorises for these lengths and this noise. The negative logarithm of the likelihood.
  double factorise();
  void choose_lengths();
  double covariance(const Point& a, const Point& b) const;

  std::vector<Point> points_;
  std::vector<double> values_;  ///< shifted and scaled: mean 0, deviation 1
  Matern covariance_;
  double shift_ = 0, scale_ = 1;
  std::vector<double> lengths_;
  double noise_ = 0, amplitude_ = 1;
  std::vector<double> lower_;    ///< Cholesky factor, row after row
  std::vector<double> weights_;  ///< inverse covariance times values
};

/// The mean of max(0, best - value) over the prediction: by how much a smaller value is expected
/// (Jones, Schonlau and Welch 1998).
double expected_improvement(const GaussianProcess::Prediction& prediction, double best);

}  // namespace thalweg::jobspec
