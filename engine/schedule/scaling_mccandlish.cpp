// mccandlish: 1 / (1 + noise / B)^alpha, or with a reference batch that over the same of the
// reference. McCandlish et al. 2018 (arXiv:1812.06162), eq. 2.6 and the learning rates of its
// appendix: alpha is 1 for SGD, 0.5 to 1 for Adam.
#include <cmath>
#include <limits>

#include "engine/schedule/table.h"

namespace thalweg::engine {

ScalingEntry scaling_mccandlish() {
  constexpr double inf = std::numeric_limits<double>::infinity();
  jobspec::Option reference = scaling_batch_option();
  reference.required = false;
  reference.doc =
      "global batch for which optimizer.lr is right; if not set, it is the rate of a batch far "
      "above the noise scale";
  jobspec::Option noise =
      float_option("noise_scale", jobspec::Value(), 0, inf,
                   "gradient noise scale in samples, as noise/b_simple reports");
  noise.required = true;
  return {"mccandlish",
          "1 / (1 + noise_scale / batch)^alpha",
          {std::move(reference), std::move(noise),
           float_option("scaling_alpha", 1.0, 0, 1, "1 for SGD, 0.5 to 1 for Adam")},
          [](const ScheduleOptions& o) {
            const double noise_scale = o.real("noise_scale"), alpha = o.real("scaling_alpha");
            const auto at = [&](double batch) { return std::pow(1 + noise_scale / batch, -alpha); };
            const double factor = at(static_cast<double>(o.context().length.global_batch));
            return o.has("scaling_batch") ? factor / at(o.real("scaling_batch")) : factor;
          }};
}

}  // namespace thalweg::engine
