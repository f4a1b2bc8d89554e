// auto: k up to 16, then sqrt(k), k = batch / reference batch. Dong et al. 2019 (arXiv:1905.06236)
// found linear scaling best on few nodes and square-root scaling beyond 16.
#include <cmath>

#include "engine/schedule/table.h"

namespace thalweg::engine {

ScalingEntry scaling_auto() {
  constexpr double kLinearUpTo = 16;
  return {"auto",
          "linear up to 16 times the reference batch, square root beyond",
          {scaling_batch_option(),
           flag_option("scaling_anchored", false,
                       "beyond 16 continue from there, 16 sqrt(k/16), instead of sqrt(k)")},
          [](const ScheduleOptions& o) {
            const double k = batch_ratio(o);
            if (k <= kLinearUpTo) return k;
            return o.flag("scaling_anchored") ? kLinearUpTo * std::sqrt(k / kLinearUpTo)
                                              : std::sqrt(k);
          }};
}

}  // namespace thalweg::engine
