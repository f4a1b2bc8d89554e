// exponential: gamma^(t / every).
#include <cmath>
#include <stdexcept>

#include "engine/schedule/table.h"

namespace thalweg::engine {

DecayEntry exponential() {
  std::vector<jobspec::Option> options =
      span_options("every", "time in which the rate falls by gamma; one epoch if not set");
  options.push_back(float_option("gamma", 0.9, 0, 1, "factor per `every`"));
  return {"exponential", "falls smoothly by gamma per epoch (or per every_*)", std::move(options),
          [](const ScheduleOptions& o) {
            const double every = o.steps("every", o.epoch());
            if (!(every > 0))
              throw std::invalid_argument("schedule: decay 'exponential' needs every_* above 0");
            return schedule_of(
                [every, gamma = o.real("gamma")](double t) { return std::pow(gamma, t / every); });
          }};
}

}  // namespace thalweg::engine
