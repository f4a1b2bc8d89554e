// Sample x is the target of an input that is always 1: the model is a vector theta (a linear layer
// without bias over that input), started at ones.
#include "engine/data/quadratic_deep.h"

#include <numbers>

#include "engine/data/numpy_random.h"
#include "engine/data/table.h"

namespace thalweg::engine {
namespace {

constexpr std::size_t kSize = kQuadraticDeepSize;
constexpr std::uint32_t kProblemSeed = 42, kTrainingSeed = 42, kTestSeed = 43;
constexpr double kNoise = 0.6;
constexpr std::size_t kTraining = 1000;
constexpr std::size_t kTest = 896;  // of 1000, in batches of 128 whose rest is dropped

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

class QuadraticDeep final : public Dataset {
 public:
  QuadraticDeep()
      : Dataset({.input = {1}, .classes = 0, .labels = 0, .targets = kQuadraticDeepSize}) {
    fill(kTrainingSeed, kTraining);
    fill(kTestSeed, kTest);
  }
  std::size_t size() const override { return kTraining + kTest; }
  std::size_t own_validation() const override { return kTest; }
  void copy(std::size_t, float* out) const override { *out = 1; }
  void copy_labels(std::size_t, std::int32_t*) const override {}
  void copy_targets(std::size_t index, float* out) const override {
    for (std::size_t i = 0; i < kSize; ++i)
      out[i] = values_[index * kSize + i];
  }

 private:
  void fill(std::uint32_t seed, std::size_t samples) {
    NumpyRandom random(seed);
    for (std::size_t i = 0; i < samples * kSize; ++i)
      values_.push_back(static_cast<float>(kNoise * random.normal()));
  }
  std::vector<float> values_;
};

}  // namespace

std::vector<double> quadratic_deep_hessian() {
  NumpyRandom random(kProblemSeed);
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

data::Row data::quadratic_deep() {
  return {"quadratic-deep",
          "DeepOBS' noisy quadratic of 100 parameters; needs no files",
          {},
          [](const jobspec::Value&) -> std::unique_ptr<Dataset> {
            return std::make_unique<QuadraticDeep>();
          }};
}

}  // namespace thalweg::engine
