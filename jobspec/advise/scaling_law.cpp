// N / X(N) is linear in a, b and c. Its errors are in proportion to it, so each row weighs by its
// own fitted value, found again after each fit.
#include "jobspec/advise/scaling_law.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace thalweg::jobspec::advise {
namespace {

using Terms = std::array<double, 3>;
using Matrix = std::array<Terms, 3>;

double dot(const Terms& a, const Terms& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/// Of the first `n` rows and columns of a positive definite matrix; the rest becomes 0.
Matrix inverse(Matrix a, std::size_t n) {
  Matrix result{};
  for (std::size_t i = 0; i < n; ++i)
    result[i][i] = 1;
  for (std::size_t i = 0; i < n; ++i) {
    const double pivot = a[i][i];
    for (std::size_t c = 0; c < n; ++c) {
      a[i][c] /= pivot;
      result[i][c] /= pivot;
    }
    for (std::size_t r = 0; r < n; ++r) {
      if (r == i) continue;
      const double factor = a[r][i];
      for (std::size_t c = 0; c < n; ++c) {
        a[r][c] -= factor * a[i][c];
        result[r][c] -= factor * result[i][c];
      }
    }
  }
  return result;
}

}  // namespace

Terms ScalingLaw::terms(double ranks) const {
  return {1, (ranks - 1) / max_ranks_, ranks * (ranks - 1) / (max_ranks_ * max_ranks_)};
}

/// D/2 - N dD/dN, where X = N / D.
Terms ScalingLaw::gain_terms(double ranks) const {
  const Terms at = terms(ranks);
  return {at[0] / 2, at[1] / 2 - ranks / max_ranks_,
          at[2] / 2 - ranks * (2 * ranks - 1) / (max_ranks_ * max_ranks_)};
}

double ScalingLaw::gain(double ranks) const {
  return dot(coefficients_, gain_terms(ranks));
}

double ScalingLaw::at(double ranks) const {
  return ranks / dot(coefficients_, terms(ranks));
}

bool ScalingLaw::hardly_gains(double ranks) const {
  const Terms c = gain_terms(ranks);
  double variance = 0;
  for (std::size_t i = 0; i < c.size(); ++i)
    variance += c[i] * dot(covariance_[i], c);
  return gain(ranks) + t_quantile_95(freedom_) * std::sqrt(std::max(0.0, variance)) < 0;
}

double ScalingLaw::hardly_gains_from(double most) const {
  double low = 1, high = most;
  if (gain(low) < 0) return low;
  while (high - low > 0.01 * low)
    (gain((low + high) / 2) < 0 ? high : low) = (low + high) / 2;
  return high;
}

std::optional<ScalingLaw> fit_scaling(const std::vector<Speed>& runs, bool falls) {
  constexpr std::size_t enough_for_all = 4;
  constexpr int rounds = 4;
  std::set<double> different;
  for (const Speed& run : runs)
    different.insert(run.ranks);
  const std::size_t n = falls && different.size() >= enough_for_all ? 3 : 2;
  if (different.size() < 2 || runs.size() <= n) return std::nullopt;
  ScalingLaw law;
  law.max_ranks_ = *different.rbegin();
  law.freedom_ = runs.size() - n;
  double squares = 0;
  for (int round = 0; round < rounds; ++round) {
    Matrix normal{};
    Terms right{};
    squares = 0;
    for (const Speed& run : runs) {
      const double time = run.ranks / run.samples_per_s;
      const Terms row = law.terms(run.ranks);
      const double fitted = dot(law.coefficients_, row);
      const double scale = fitted > 0 ? fitted : time;
      squares += std::pow((time - fitted) / scale, 2);
      for (std::size_t i = 0; i < n; ++i) {
        right[i] += row[i] * time / (scale * scale);
        for (std::size_t j = 0; j < n; ++j)
          normal[i][j] += row[i] * row[j] / (scale * scale);
      }
    }
    law.covariance_ = inverse(normal, n);
    if (round + 1 < rounds)
      for (std::size_t i = 0; i < n; ++i)
        law.coefficients_[i] = dot(law.covariance_[i], right);
  }
  for (Terms& row : law.covariance_)
    for (double& each : row)
      each *= squares / static_cast<double>(law.freedom_);
  return law;
}

}  // namespace thalweg::jobspec::advise
