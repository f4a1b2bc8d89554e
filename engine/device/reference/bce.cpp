// bce: binary cross-entropy of logits, max(x, 0) - x t + log(1 + exp(-|x|)), averaged over a
// sample's targets t in [0, 1]. The form with |x| cannot overflow.
#include <algorithm>
#include <cmath>

#include "engine/device/reference/elementwise_losses.h"

namespace thalweg::engine::reference {
namespace {

template <class T>
ShardResult loss(const LossPlan& plan, const LossCall<T>& call) {
  return each_target(plan, call, [](T x, T target, T& slope) {
    const T power = std::exp(-std::abs(x));
    const T probability = x >= 0 ? 1 / (1 + power) : power / (1 + power);
    slope = probability - target;
    return std::max(x, T{0}) - x * target + std::log1p(power);
  });
}

}  // namespace

const Loss bce{loss<float>, loss<double>};

}  // namespace thalweg::engine::reference
