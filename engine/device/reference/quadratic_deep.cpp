// quadratic_deep: 1/2 (y - t)' Q (y - t) over 100 outputs y and targets t. Q is that of DeepOBS'
// problem (Schneider et al., ICLR 2019; deepobs/tensorflow/testproblems/quadratic_deep.py): 90
// eigenvalues in (0, 1), 10 in (30, 60), randomly rotated, all from NumPy's generator with seed 42.
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <utility>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/reference/layer.h"
#include "engine/tensor/numpy_random.h"

namespace thalweg::engine::reference {
namespace {

constexpr std::size_t kSize = 100;
constexpr std::uint32_t kSeed = 42;

/// Uniform over SO(kSize) by the subgroup algorithm (Diaconis and Shahshahani 1987): from dimension
/// d to d + 1 by one reflection.
std::vector<double> random_rotation(NumpyRandom& random) {
  const double angle = 2 * std::numbers::pi * random.uniform();
  std::vector<double> r{std::cos(angle), std::sin(angle), -std::sin(angle), std::cos(angle)};
  for (std::size_t d = 2; d < kSize; ++d) {
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
  NumpyRandom random(kSeed);
  std::vector<double> eigenvalues(kSize);
  for (std::size_t i = 0; i < kSize; ++i)
    eigenvalues[i] = i < kSize * 9 / 10 ? random.uniform() : 30 + 30 * random.uniform();
  const std::vector<double> r = random_rotation(random);
  std::vector<double> q(kSize * kSize, 0.0);
  for (std::size_t k = 0; k < kSize; ++k)
    for (std::size_t i = 0; i < kSize; ++i)
      for (std::size_t j = 0; j < kSize; ++j)
        q[i * kSize + j] += r[k * kSize + i] * eigenvalues[k] * r[k * kSize + j];
  return q;
}

template <class T>
ShardResult loss(const LossPlan& plan, const LossCall<T>& call) {
  static const std::vector<double> q = make_hessian();
  if (plan.data.targets != static_cast<std::int64_t>(kSize))
    throw std::invalid_argument("loss quadratic_deep is for 100 targets, the data has " +
                                std::to_string(plan.data.targets));
  ShardResult result;
  std::vector<double> difference(kSize);
  for (int n = 0; n < call.batch->samples; ++n) {
    const std::size_t first = static_cast<std::size_t>(n) * kSize;
    for (std::size_t i = 0; i < kSize; ++i)
      difference[i] = static_cast<double>(call.outputs[first + i]) -
                      static_cast<double>(call.batch->targets[first + i]);
    for (std::size_t i = 0; i < kSize; ++i) {
      double slope = 0;
      for (std::size_t j = 0; j < kSize; ++j)
        slope += q[i * kSize + j] * difference[j];
      result.loss_sum += 0.5 * difference[i] * slope;
      if (call.gradient != nullptr)
        call.gradient[first + i] = static_cast<T>(static_cast<double>(call.scale) * slope);
    }
  }
  return result;
}

}  // namespace

const Loss quadratic_deep{loss<float>, loss<double>};

}  // namespace thalweg::engine::reference
