#include "engine/device/quadratic_hessian.h"

#include <cmath>
#include <numbers>
#include <utility>

#include "engine/tensor/numpy_random.h"

namespace thalweg::engine {
namespace {

constexpr auto size = static_cast<std::size_t>(quadratic_size);
constexpr std::uint32_t seed = 42;

/// Uniform over SO(size) by the subgroup algorithm (Diaconis and Shahshahani 1987): from dimension
/// d to d + 1 by one reflection.
std::vector<double> random_rotation(NumpyRandom& random) {
  const double angle = 2 * std::numbers::pi * random.uniform();
  std::vector<double> r{std::cos(angle), std::sin(angle), -std::sin(angle), std::cos(angle)};
  for (std::size_t d = 2; d < size; ++d) {
    const std::size_t n = d + 1;
    std::vector<double> x(n), grown(n * n, 0.0), product(n, 0.0);
    double square = 0;
    for (double& v : x) {
      v = random.normal();
      square += v * v;
    }
    // the direction from the random unit vector to the first axis
    for (double& v : x)
      v /= -std::sqrt(square);
    x[0] += 1;
    square = 0;
    for (const double v : x)
      square += v * v;
    for (double& v : x)
      v /= std::sqrt(square);
    grown[0] = 1;
    for (std::size_t i = 0; i < d; ++i)
      for (std::size_t j = 0; j < d; ++j)
        grown[(i + 1) * n + j + 1] = r[i * d + j];
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        product[j] += x[i] * grown[i * n + j];
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        grown[i * n + j] -= 2 * x[i] * product[j];
    r = std::move(grown);
  }
  for (double& v : r)
    v = -v;  // back to determinant 1
  return r;
}

std::vector<double> make_hessian() {
  NumpyRandom random(seed);
  std::vector<double> eigenvalues(size);
  for (std::size_t i = 0; i < size; ++i)
    eigenvalues[i] = i < size * 9 / 10 ? random.uniform() : 30 + 30 * random.uniform();
  const std::vector<double> r = random_rotation(random);
  std::vector<double> q(size * size, 0.0);
  for (std::size_t k = 0; k < size; ++k)
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t j = 0; j < size; ++j)
        q[i * size + j] += r[k * size + i] * eigenvalues[k] * r[k * size + j];
  return q;
}

}  // namespace

const std::vector<double>& quadratic_hessian() {
  static const std::vector<double> q = make_hessian();
  return q;
}

}  // namespace thalweg::engine
