// multistep: gamma^(number of milestones <= t), t from the start of the run (PyTorch's
// MultiStepLR), or a factor of its own for each milestone.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "engine/schedule/table.h"

namespace thalweg::engine {
namespace {

std::vector<double> read_milestones(const ScheduleOptions& o) {
  std::string key;
  std::vector<double> milestones = o.step_list("at", &key);
  if (milestones.empty())
    throw std::invalid_argument("schedule." + key +
                                ": the list is empty; give a milestone or use decay 'constant'");
  for (std::size_t i = 0; i < milestones.size(); ++i)
    if (!(milestones[i] > (i == 0 ? 0 : milestones[i - 1])))
      throw std::invalid_argument("schedule." + key +
                                  ": milestones must rise and be above 0; put them in order");
  return milestones;
}

/// The multiplier after 0, 1, 2, ... milestones.
std::vector<double> read_factors(const ScheduleOptions& o, std::size_t milestones) {
  std::vector<double> factors{1.0};
  if (!o.has("factors")) {
    for (std::size_t i = 1; i <= milestones; ++i)
      factors.push_back(std::pow(o.real("gamma"), static_cast<double>(i)));
    return factors;
  }
  const std::vector<double> own = o.reals("factors");
  if (own.size() != milestones)
    throw std::invalid_argument(
        "schedule.factors: " + std::to_string(own.size()) + " factors for " +
        std::to_string(milestones) +
        " milestones; give one for each, or leave factors out and set gamma");
  for (const double factor : own)
    if (!(factor >= 0) || !std::isfinite(factor))
      throw std::invalid_argument("schedule.factors: a factor must be a number of at least 0");
  factors.insert(factors.end(), own.begin(), own.end());
  return factors;
}

}  // namespace

DecayEntry multistep() {
  std::vector<jobspec::Option> options = span_list_options(
      "at", "milestones from the start of the run, warm-up included: [30, 60, 80]");
  options.push_back(float_option("gamma", 0.1, 0, 1, "factor at each milestone"));
  options.push_back(list_option(
      "factors", {},
      "instead of gamma: share of the base rate from each milestone on, [0.25, 0.125]"));
  return {"multistep", "times gamma at given times", std::move(options),
          [](const ScheduleOptions& o) {
            std::vector<double> milestones = read_milestones(o);
            std::vector<double> factors = read_factors(o, milestones.size());
            return schedule_of([milestones, factors](double t) {
              const auto next = std::upper_bound(milestones.begin(), milestones.end(), t);
              return factors[static_cast<std::size_t>(next - milestones.begin())];
            });
          },
          Clock::start_of_run};
}

}  // namespace thalweg::engine
