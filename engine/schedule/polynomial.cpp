// polynomial: final + (1 - final) (1 - t / T)^power, then final.
#include <algorithm>
#include <cmath>

#include "engine/schedule/table.h"

namespace thalweg::engine {

DecayEntry polynomial() {
  std::vector<jobspec::Option> options =
      span_options("decay", "T; from the warm-up's end to the end of training if not set");
  options.push_back(float_option("power", 1.0, 0, 100, "1 is a straight line"));
  options.push_back(final_option());
  return {"polynomial",
          "(1 - t/T)^power down to `final`",
          std::move(options),
          [](const ScheduleOptions& o) {
            const double T = std::max(1.0, o.steps("decay", o.context().span()));
            return schedule_of([T, power = o.real("power"), last = o.real("final")](double t) {
              return last + (1 - last) * std::pow(std::max(0.0, 1 - t / T), power);
            });
          },
          Clock::warmup_end,
          "decay"};
}

}  // namespace thalweg::engine
