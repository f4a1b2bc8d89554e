// bce: as in reference.cpp.
#include <cmath>

#include "engine/losses/cuda_elementwise.h"

namespace thalweg::engine::cuda {
namespace {

struct CrossEntropyOfLogit {
  THALWEG_HOST_DEVICE float operator()(float x, float target, float& gradient, double* sums) const {
    const bool yes = x > 0, wanted = target > 0.5f;
    sums[2] += yes != wanted ? 1 : 0;
    sums[3] += yes && wanted ? 1 : 0;
    sums[4] += yes || wanted ? 1 : 0;
    const float power = std::exp(x > 0 ? -x : x);
    gradient = (x >= 0 ? 1 : power) / (1 + power) - target;
    return (x > 0 ? x : 0) - x * target + std::log1p(power);
  }
};

}  // namespace

TensorId bce(Builder& b, TensorId output) {
  return add_each_target<CrossEntropyOfLogit>(b, output);
}

}  // namespace thalweg::engine::cuda
