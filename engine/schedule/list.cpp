// list: one multiplier for each epoch, t from the start of the run (fairseq's "fixed" schedule).
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "engine/schedule/table.h"

namespace thalweg::engine {
namespace {

std::vector<double> read_factors(const ScheduleOptions& o) {
  std::vector<double> factors = o.reals("factors");
  const RunLength& length = o.context().length;
  const std::int64_t epochs =
      (length.total_steps + length.steps_per_epoch - 1) / length.steps_per_epoch;
  if (static_cast<std::int64_t>(factors.size()) < epochs)
    throw std::invalid_argument("schedule.factors: " + std::to_string(factors.size()) +
                                " factors for " + std::to_string(epochs) +
                                " epochs; give one for each epoch");
  for (const double factor : factors)
    if (!(factor >= 0) || !std::isfinite(factor))
      throw std::invalid_argument("schedule.factors: a factor must be a number of at least 0");
  return factors;
}

}  // namespace

DecayEntry list() {
  jobspec::Option factors =
      list_option("factors", {}, "share of the base rate in each epoch: [1, 0.5]");
  factors.required = true;
  return {"list",
          "a factor for each epoch, warm-up included",
          {std::move(factors)},
          [](const ScheduleOptions& o) {
            return schedule_of([factors = read_factors(o), epoch = o.epoch()](double t) {
              const auto at = static_cast<std::size_t>(t / epoch);
              return factors[std::min(at, factors.size() - 1)];
            });
          },
          Clock::start_of_run};
}

}  // namespace thalweg::engine
