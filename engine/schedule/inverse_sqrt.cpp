// inverse-sqrt: sqrt(s / (s + t)), t from the warm-up's end. With s = the warm-up's length it is
// the schedule of Vaswani et al. 2017 (arXiv:1706.03762), sec. 5.3, as in Hugging Face's
// get_inverse_sqrt_schedule, which also has 10,000 for a run without warm-up.
#include <cmath>
#include <stdexcept>

#include "engine/schedule/table.h"

namespace thalweg::engine {

DecayEntry inverse_sqrt() {
  constexpr double kScaleWithoutWarmup = 10000;
  return {
      "inverse-sqrt", "falls with the square root of time, from the warm-up's end",
      span_options("timescale", "s; the warm-up's length if not set, 10,000 steps without warm-up"),
      [](const ScheduleOptions& o) {
        const auto warmup = static_cast<double>(o.context().warmup_steps);
        const double s = o.steps("timescale", warmup > 0 ? warmup : kScaleWithoutWarmup);
        if (!(s > 0))
          throw std::invalid_argument("schedule: decay 'inverse-sqrt' needs timescale_* above 0");
        return schedule_of([s](double t) { return std::sqrt(s / (s + t)); });
      }};
}

}  // namespace thalweg::engine
