// How speed grows with the ranks, fitted to runs that differ in their ranks alone.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "jobspec/advise/formulas.h"

namespace thalweg::jobspec::advise {

/// The universal scalability law: N ranks make X(N) = N / (a + b (N - 1) + c N (N - 1)) samples per
/// second, of a rank's work, what ranks wait for in turn, and what each does with every other one
/// (N. J. Gunther, Guerrilla Capacity Planning, 2007, ch. 4; c = 0 is Amdahl's law).
class ScalingLaw {
 public:
  double at(double ranks) const;
  /// Whether another rank gains less than half of what it costs, d ln X / d ln N < 1/2, by a
  /// one-sided test at 5 %: Student's t of the fit's residuals.
  bool hardly_gains(double ranks) const;
  /// From how many ranks on that is what the fit says, up to `most`, for which it does.
  double hardly_gains_from(double most) const;

 private:
  friend std::optional<ScalingLaw> fit_scaling(const std::vector<Speed>& runs, bool falls);
  using Terms = std::array<double, 3>;

  Terms terms(double ranks) const;
  /// What the derivative comes down to: below 0 where little is gained.
  Terms gain_terms(double ranks) const;
  double gain(double ranks) const;

  double max_ranks_ = 1;  ///< the terms are in units of it
  Terms coefficients_{};
  std::array<Terms, 3> covariance_{};
  std::size_t freedom_ = 0;
};

/// By least squares of relative errors; without c where fewer than four numbers of ranks are known,
/// or where `falls` is not set: such a law levels off, so it is the safer one beyond the data.
/// Nothing where all have the same number, or no run is left to tell how far the law is off.
std::optional<ScalingLaw> fit_scaling(const std::vector<Speed>& runs, bool falls = true);

}  // namespace thalweg::jobspec::advise
