// inverse-time: (1 + gamma t / every)^-power; power 1 is 1/t decay. Source: Caffe's policy "inv"
// (sgd_solver.cpp), whose time is in steps.
#include <cmath>
#include <limits>
#include <stdexcept>

#include "engine/schedule/table.h"

namespace thalweg::engine {

DecayEntry inverse_time() {
  constexpr double inf = std::numeric_limits<double>::infinity();
  std::vector<jobspec::Option> options =
      span_options("every", "unit of time; one epoch if not set");
  options.push_back(float_option("gamma", 0.5, 0, inf, "how fast it falls: 1 halves in one unit"));
  options.push_back(float_option("power", 1.0, 0, 100, "exponent"));
  return {"inverse-time", "1 / (1 + gamma t), t in epochs (or every_*)", std::move(options),
          [](const ScheduleOptions& o) {
            const double every = o.steps("every", o.epoch());
            if (!(every > 0))
              throw std::invalid_argument("schedule: decay 'inverse-time' needs every_* above 0");
            return schedule_of([every, gamma = o.real("gamma"), power = o.real("power")](double t) {
              return std::pow(1 + gamma * t / every, -power);
            });
          }};
}

}  // namespace thalweg::engine
