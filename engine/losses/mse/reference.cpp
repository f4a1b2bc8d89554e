// mse: (output - target)^2, averaged over a sample's targets.
#include "engine/losses/reference_elementwise.h"
#include "engine/losses/row.h"

namespace thalweg::engine::reference {
namespace {

template <class T>
ShardResult mse_loss(const LossPlan& plan, const LossCall<T>& call) {
  return each_target(plan, call, [](T output, T target, T& gradient) {
    const T difference = output - target;
    gradient = 2 * difference;
    return difference * difference;
  });
}

}  // namespace

const Loss mse{mse_loss<float>, mse_loss<double>};

}  // namespace thalweg::engine::reference

namespace thalweg::engine::losses {

LossKind mse() {
  return {.doc = "squared error, averaged over the targets",
          .options = {},
          .of_labels = false,
          .reference = &reference::mse,
          .metrics = {mae}};
}

}  // namespace thalweg::engine::losses
