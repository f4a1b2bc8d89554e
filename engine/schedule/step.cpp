// step: gamma^floor(t / every), t from the start of the run (PyTorch's StepLR; Goyal et al. 2017).
#include <cmath>
#include <stdexcept>

#include "engine/schedule/table.h"

namespace thalweg::engine {

DecayEntry step() {
  std::vector<jobspec::Option> options =
      span_options("every", "time between two drops, warm-up included; one epoch if not set");
  options.push_back(float_option("gamma", 0.1, 0, 1, "factor of each drop"));
  return {"step", "times gamma at regular intervals", std::move(options),
          [](const ScheduleOptions& o) {
            const double every = o.steps("every", o.epoch());
            if (!(every >= 1))
              throw std::invalid_argument(
                  "schedule: decay 'step' needs every_steps, every_epochs "
                  "or every_samples of at least one step");
            return schedule_of([every, gamma = o.real("gamma")](double t) {
              return std::pow(gamma, std::floor(t / every));
            });
          },
          Clock::start_of_run};
}

}  // namespace thalweg::engine
