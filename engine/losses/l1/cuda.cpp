// l1: as in reference.cpp.
#include "engine/losses/cuda_elementwise.h"

namespace thalweg::engine::cuda {
namespace {

struct AbsoluteError {
  THALWEG_HOST_DEVICE float operator()(float output, float target, float& gradient, double*) const {
    const float difference = output - target;
    gradient = difference > 0 ? 1.0f : difference < 0 ? -1.0f : 0.0f;
    return gradient * difference;
  }
};

}  // namespace

TensorId l1(Builder& b, TensorId output) {
  return add_each_target<AbsoluteError>(b, output);
}

}  // namespace thalweg::engine::cuda
