// quadratic: from + (1 - from) ((t + 1) / W)^2. Source: the ramp-up of NVIDIA's Caffe
// (sgd_solver.cpp), which is warmup_offset 0.
#include "engine/schedule/table.h"

namespace thalweg::engine {

WarmupEntry warmup_quadratic() {
  return {
      "quadratic", "rises slowly, then faster", rising_options(), warmup_length,
      [](const ScheduleOptions& o) {
        const auto W = static_cast<double>(warmup_length(o));
        return schedule_of([W, from = warmup_from(o), offset = o.real("warmup_offset")](double t) {
          const double share = (t + offset) / W;
          return from + (1 - from) * share * share;
        });
      }};
}

}  // namespace thalweg::engine
