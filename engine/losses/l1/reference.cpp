// l1: |output - target|, averaged over a sample's targets; gradient 0 where they are equal.
#include "engine/losses/reference_elementwise.h"
#include "engine/losses/row.h"

namespace thalweg::engine::reference {
namespace {

template <class T>
ShardResult l1_loss(const LossPlan& plan, const LossCall<T>& call) {
  return each_target(plan, call, [](T output, T target, T& gradient) {
    const T difference = output - target;
    gradient = difference > 0 ? T{1} : difference < 0 ? T{-1} : T{0};
    return gradient * difference;
  });
}

}  // namespace

const Loss l1{l1_loss<float>, l1_loss<double>};

}  // namespace thalweg::engine::reference

namespace thalweg::engine::losses {

LossKind l1() {
  return {.doc = "absolute error, averaged over the targets",
          .options = {},
          .of_labels = false,
          .reference = &reference::l1,
          .metrics = {mae}};
}

}  // namespace thalweg::engine::losses
