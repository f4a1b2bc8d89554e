// bce: binary cross-entropy of logits, max(x, 0) - x t + log(1 + exp(-|x|)), averaged over a
// sample's targets t in [0, 1]. The form with |x| cannot overflow.
#include <algorithm>
#include <cmath>

#include "engine/losses/reference_elementwise.h"
#include "engine/losses/row.h"

namespace thalweg::engine::reference {
namespace {

enum SideSum : std::size_t { wrong_side = target_count + 1, both, either };

/// For the metrics error and iou: a target above 1/2 is to have a logit above 0.
template <class T>
void count_sides(const LossPlan& plan, const LossCall<T>& call, ShardResult& result) {
  for (std::int64_t i = 0; i < call.batch->samples * plan.data.targets; ++i) {
    const bool yes = call.outputs[i] > 0, wanted = call.batch->targets[i] > 0.5f;
    result.sums[wrong_side] += yes != wanted ? 1 : 0;
    result.sums[both] += yes && wanted ? 1 : 0;
    result.sums[either] += yes || wanted ? 1 : 0;
  }
}

template <class T>
ShardResult bce_loss(const LossPlan& plan, const LossCall<T>& call) {
  ShardResult result = each_target(plan, call, [](T x, T target, T& gradient) {
    const T power = std::exp(-std::abs(x));
    const T probability = x >= 0 ? 1 / (1 + power) : power / (1 + power);
    gradient = probability - target;
    return std::max(x, T{0}) - x * target + std::log1p(power);
  });
  count_sides(plan, call, result);
  return result;
}

}  // namespace

const Loss bce{bce_loss<float>, bce_loss<double>};

}  // namespace thalweg::engine::reference

namespace thalweg::engine::losses {

// Other sums than those of labels: the iou has the same places.
LossKind bce() {
  return {.doc = "binary cross-entropy of logits with targets from 0 to 1",
          .options = {},
          .of_labels = false,
          .reference = &reference::bce,
          .metrics = {Metric{"error", 2, 1}, Metric{"accuracy", one_minus + 2, 1},
                      Metric{"iou", 3, 4}}};
}

}  // namespace thalweg::engine::losses
