// step: gamma^floor(t / every).
#include <cmath>
#include <stdexcept>

#include "engine/schedule/table.h"

namespace thalweg::engine {

DecayEntry step() {
  std::vector<jobspec::Option> options = span_options("every", "time between two drops");
  options.push_back(number_option("gamma", 0.1, 0, 1, "factor of each drop"));
  return {"step", "times gamma at regular intervals", std::move(options),
          [](const ScheduleOptions& o, double) {
            const double every = o.steps("every", static_cast<double>(o.length().steps_per_epoch));
            if (!(every >= 1))
              throw std::invalid_argument(
                  "schedule: decay 'step' needs every_steps or every_epochs of at least one step");
            return schedule_of([every, gamma = o.real("gamma")](double t) {
              return std::pow(gamma, std::floor(t / every));
            });
          }};
}

}  // namespace thalweg::engine
