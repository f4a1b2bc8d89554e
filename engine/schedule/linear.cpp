// linear: initial + (final - initial) t / T, then final (PyTorch's LinearLR).
#include <algorithm>

#include "engine/schedule/table.h"

namespace thalweg::engine {

DecayEntry linear() {
  std::vector<jobspec::Option> options =
      span_options("decay", "T; from the warm-up's end to the end of training if not set");
  options.push_back(float_option("initial", 1.0, 0, 1, "share of the base rate at its start"));
  options.push_back(final_option());
  return {"linear",
          "a straight line from `initial` to `final`",
          std::move(options),
          [](const ScheduleOptions& o) {
            const double T = std::max(1.0, o.steps("decay", o.context().span()));
            return schedule_of([T, first = o.real("initial"), last = o.real("final")](double t) {
              return first + (last - first) * std::min(1.0, t / T);
            });
          },
          Clock::warmup_end,
          "decay"};
}

}  // namespace thalweg::engine
