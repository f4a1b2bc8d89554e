// l1: |output - target|, averaged over a sample's targets; slope 0 where they are equal.
#include "engine/device/reference/elementwise_losses.h"

namespace thalweg::engine::reference {
namespace {

template <class T>
ShardResult loss(const LossPlan& plan, const LossCall<T>& call) {
  return each_target(plan, call, [](T output, T target, T& slope) {
    const T difference = output - target;
    slope = difference > 0 ? T{1} : difference < 0 ? T{-1} : T{0};
    return slope * difference;
  });
}

}  // namespace

const Loss l1{loss<float>, loss<double>};

}  // namespace thalweg::engine::reference
