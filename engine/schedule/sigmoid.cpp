// sigmoid: 1 / (1 + exp(slope (t - centre) / every)). Source: Caffe's policy "sigmoid"
// (sgd_solver.cpp), where gamma = -slope and stepsize = the centre.
#include <cmath>
#include <limits>
#include <stdexcept>

#include "engine/schedule/table.h"

namespace thalweg::engine {

DecayEntry sigmoid() {
  constexpr double inf = std::numeric_limits<double>::infinity();
  std::vector<jobspec::Option> options = span_options(
      "center", "when half the rate is left; half of what follows the warm-up if not set");
  for (jobspec::Option& every : span_options("every", "unit of time; one epoch if not set"))
    options.push_back(std::move(every));
  options.push_back(float_option("slope", 1.0, 0, inf, "how steep it falls, per unit of time"));
  return {"sigmoid",
          "falls around center_* like a logistic curve",
          std::move(options),
          [](const ScheduleOptions& o) {
            const double centre = o.steps("center", o.context().span() / 2);
            const double every = o.steps("every", o.epoch());
            if (!(every > 0))
              throw std::invalid_argument("schedule: decay 'sigmoid' needs every_* above 0");
            return schedule_of([centre, every, slope = o.real("slope")](double t) {
              return 1 / (1 + std::exp(slope * (t - centre) / every));
            });
          },
          Clock::warmup_end,
          "center"};
}

}  // namespace thalweg::engine
