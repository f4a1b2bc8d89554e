// Polynomials by least squares on x shifted and scaled, so that sizes of 1e12 FLOPs keep their
// digits; the coefficients are told for x as it came.
#include "jobspec/advise/regression.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <set>

#include "jobspec/gaussian_process.h"

namespace thalweg::jobspec::advise {
namespace {

using Samples = std::vector<Sample>;
using Predictor = std::function<double(double)>;

struct Scale {
  double shift = 0, width = 1;
  double most = 0;  ///< where x is 1

  double operator()(double x) const { return (x - shift) / width; }
};

/// x from 0 to 1.
Scale scale_of(const Samples& samples) {
  const auto [least, most] = std::minmax_element(
      samples.begin(), samples.end(), [](const Sample& a, const Sample& b) { return a.x < b.x; });
  const double width = most->x - least->x;
  return {least->x, width > 0 ? width : 1, most->x};
}

/// Least squares of degree 1 or 2, by Gauss elimination of the normal equations; of x from 0 to 1.
std::vector<double> solve(const Samples& samples, const Scale& scale, std::size_t degree) {
  constexpr std::size_t most = 3;
  const std::size_t n = degree + 1;
  std::array<std::array<double, most + 1>, most> a{};
  for (const Sample& sample : samples) {
    std::array<double, most> powers{1};
    for (std::size_t i = 1; i < n; ++i)
      powers[i] = powers[i - 1] * scale(sample.x);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j)
        a[i][j] += powers[i] * powers[j];
      a[i][most] += powers[i] * sample.y;
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t pivot = i;
    for (std::size_t r = i + 1; r < n; ++r)
      if (std::abs(a[r][i]) > std::abs(a[pivot][i])) pivot = r;
    std::swap(a[i], a[pivot]);
    for (std::size_t r = 0; r < n; ++r) {
      if (r == i) continue;
      const double factor = a[r][i] / a[i][i];
      for (std::size_t c = i; c <= most; ++c)
        a[r][c] -= factor * a[i][c];
    }
  }
  std::vector<double> coefficients;
  for (std::size_t i = 0; i < n; ++i)
    coefficients.push_back(a[i][most] / a[i][i]);
  return coefficients;
}

double polynomial(const std::vector<double>& coefficients, double x) {
  double value = 0;
  for (auto c = coefficients.rbegin(); c != coefficients.rend(); ++c)
    value = value * x + *c;
  return value;
}

/// From coefficients of (x - shift) / width to those of x.
std::vector<double> unscaled(const std::vector<double>& c, const Scale& scale) {
  const double s = scale.shift, w = scale.width;
  if (c.size() == 2) return {c[0] - c[1] * s / w, c[1] / w};
  return {c[0] - c[1] * s / w + c[2] * s * s / (w * w), c[1] / w - 2 * c[2] * s / (w * w),
          c[2] / (w * w)};
}

Predictor fit_polynomial(const Samples& samples, std::size_t degree) {
  const Scale scale = scale_of(samples);
  return [scale, coefficients = solve(samples, scale, degree)](double x) {
    return polynomial(coefficients, scale(x));
  };
}

Predictor fit_kernel(const Samples& samples) {
  constexpr std::size_t most = 300;
  const Scale scale = scale_of(samples);
  const std::size_t stride = (samples.size() + most - 1) / most;
  std::vector<Point> points;
  std::vector<double> values;
  for (std::size_t i = 0; i < samples.size(); i += stride) {
    points.push_back({scale(samples[i].x)});
    values.push_back(samples[i].y);
  }
  const auto process =
      std::make_shared<GaussianProcess>(std::move(points), values, Matern::three_halves);
  return [scale, process](double x) { return process->at({scale(x)}).mean; };
}

struct Kind {
  const char* name;
  std::size_t different;  ///< x that it needs
  std::size_t degree;     ///< 0: the kernel model
};
constexpr Kind kinds[] = {{"linear", 3, 1}, {"quadratic", 4, 2}, {"kernel", 6, 0}};

Predictor fit(const Kind& kind, const Samples& samples) {
  return kind.degree == 0 ? fit_kernel(samples) : fit_polynomial(samples, kind.degree);
}

std::size_t different_x(const Samples& samples) {
  std::set<double> x;
  for (const Sample& sample : samples)
    x.insert(sample.x);
  return x.size();
}

void cross_validate(const Kind& kind, const Samples& samples, Regression& regression) {
  constexpr std::size_t usual_folds = 10;
  const std::size_t folds = std::min(usual_folds, samples.size());
  double error = 0, share = 0;
  std::size_t predicted = 0;
  for (std::size_t fold = 0; fold < folds; ++fold) {
    Samples rest, held;
    for (std::size_t i = 0; i < samples.size(); ++i)
      (i % folds == fold ? held : rest).push_back(samples[i]);
    if (different_x(rest) < std::max<std::size_t>(2, kind.degree + 1)) continue;
    const Predictor at = fit(kind, rest);
    for (const Sample& sample : held) {
      error += std::abs(at(sample.x) - sample.y);
      share += std::abs(at(sample.x) - sample.y) / std::abs(sample.y);
      ++predicted;
    }
  }
  const auto count = static_cast<double>(predicted);
  regression.cv_mae = predicted > 0 ? error / count : std::numeric_limits<double>::infinity();
  regression.cv_mape = predicted > 0 ? share / count : std::numeric_limits<double>::infinity();
}

double r2_of(const Predictor& at, const Samples& samples) {
  double mean = 0, left = 0, all = 0;
  for (const Sample& sample : samples)
    mean += sample.y / static_cast<double>(samples.size());
  for (const Sample& sample : samples) {
    left += std::pow(at(sample.x) - sample.y, 2);
    all += std::pow(sample.y - mean, 2);
  }
  return all > 0 ? 1 - left / all : 1;
}

}  // namespace

std::vector<Regression> fit_regressions(const Samples& given) {
  Samples samples;
  for (const Sample& sample : given)
    if (std::isfinite(sample.x) && std::isfinite(sample.y)) samples.push_back(sample);
  std::vector<Regression> fits;
  if (samples.empty()) return fits;
  const std::size_t different = different_x(samples);
  const Scale scale = scale_of(samples);
  for (const Kind& kind : kinds) {
    if (different < kind.different) continue;
    Regression regression;
    regression.model = kind.name;
    regression.min_x = scale.shift;
    regression.max_x = scale.most;
    if (kind.degree > 0)
      regression.coefficients = unscaled(solve(samples, scale, kind.degree), scale);
    regression.at = fit(kind, samples);
    regression.r2 = r2_of(regression.at, samples);
    cross_validate(kind, samples, regression);
    fits.push_back(std::move(regression));
  }
  return fits;
}

const Regression* best_of(const std::vector<Regression>& fits) {
  const auto best = std::min_element(
      fits.begin(), fits.end(),
      [](const Regression& a, const Regression& b) { return a.cv_mae < b.cv_mae; });
  return best == fits.end() ? nullptr : &*best;
}

const Regression* best_at(const std::vector<Regression>& fits, double x) {
  const Regression* best = nullptr;
  for (const Regression& fit : fits)
    if (fit.tells(x) && (!best || fit.cv_mae < best->cv_mae)) best = &fit;
  return best;
}

}  // namespace thalweg::jobspec::advise
