// linear: k = batch / reference batch. Goyal et al. 2017 (arXiv:1706.02677).
#include "engine/schedule/table.h"

namespace thalweg::engine {

jobspec::Option scaling_batch_option() {
  return required(int_option("scaling_batch", 1, 1, jobspec::no_limit,
                             "global batch for which optimizer.lr is right"));
}

double batch_ratio(const ScheduleOptions& o) {
  return static_cast<double>(o.context().length.global_batch) / o.real("scaling_batch");
}

ScalingEntry scaling_linear() {
  return {"linear", "in proportion to the batch", {scaling_batch_option()}, batch_ratio};
}

}  // namespace thalweg::engine
