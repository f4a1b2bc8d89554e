// Predicting a time from a size: step time from FLOPs, a checkpoint's from its bytes (Li et al.,
// CM-DARE, arXiv:2004.03072, compare the same kinds of models).
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace thalweg::jobspec::advise {

struct Sample {
  double x = 0, y = 0;
};

struct Regression {
  std::string model;                 ///< "linear", "quadratic", "kernel"
  std::vector<double> coefficients;  ///< of 1, x, x^2; none of the kernel model
  double r2 = 0;                     ///< of the samples it was fitted to
  /// Of samples that it was not fitted to (10 folds, every tenth sample each; fewer samples: one
  /// at a time): mean absolute error, and as a share of y.
  double cv_mae = 0, cv_mape = 0;
  std::function<double(double)> at;
  double min_x = 0, max_x = 0;  ///< of the samples

  bool outside(double x) const { return x < min_x || x > max_x; }
  /// Whether it says anything there: far from every sample the kernel model falls back to the mean
  /// of all.
  bool tells(double x) const { return !coefficients.empty() || !outside(x); }
};

/// Those that the samples are enough for: linear from 3 different x on, quadratic from 4, kernel (a
/// Gaussian process, gaussian_process.h) from 6. Finite samples only; of more than 300 every n-th
/// one makes the kernel model. Deterministic.
std::vector<Regression> fit_regressions(const std::vector<Sample>& samples);

/// The one with the least cv_mae; nullptr for none.
const Regression* best_of(const std::vector<Regression>& fits);
/// The same among those that tell something of this size.
const Regression* best_at(const std::vector<Regression>& fits, double x);

}  // namespace thalweg::jobspec::advise
