// Losses for which the reference's loops are fast enough.
#include "engine/device/cpu/layer.h"
#include "engine/device/reference/layer.h"

namespace thalweg::engine::cpu {

ShardResult mse(const LossPlan& plan, const LossCall<float>& call) {
  return reference::mse.f32(plan, call);
}

ShardResult l1(const LossPlan& plan, const LossCall<float>& call) {
  return reference::l1.f32(plan, call);
}

ShardResult bce(const LossPlan& plan, const LossCall<float>& call) {
  return reference::bce.f32(plan, call);
}

ShardResult dice(const LossPlan& plan, const LossCall<float>& call) {
  return reference::dice.f32(plan, call);
}

ShardResult quadratic_deep(const LossPlan& plan, const LossCall<float>& call) {
  return reference::quadratic_deep.f32(plan, call);
}

}  // namespace thalweg::engine::cpu
