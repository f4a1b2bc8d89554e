// wsd (warm-up, stable, decay): 1, then over the last D steps down to `final` by one of three
// shapes. Hu et al. 2024 (arXiv:2404.06395); 1-sqrt: Hagele et al. 2024 (arXiv:2405.18392).
#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "engine/schedule/table.h"

namespace thalweg::engine {
namespace {

double linear_shape(double u) {
  return 1 - u;
}
double cosine_shape(double u) {
  return (1 + std::cos(std::numbers::pi * u)) / 2;
}
double one_minus_sqrt(double u) {
  return 1 - std::sqrt(u);
}

}  // namespace

DecayEntry wsd() {
  constexpr double kDefaultShare = 0.1;
  std::vector<jobspec::Option> options = span_options(
      "decay", "D, at the end of training; a tenth of what follows the warm-up if not set");
  options.push_back(choice_option("shape", {"linear", "cosine", "1-sqrt"}, "of the decay"));
  options.push_back(final_option());
  return {"wsd",
          "stable at the base rate, then a decay at the end",
          std::move(options),
          [](const ScheduleOptions& o) {
            const double span = o.context().span();
            const double D = o.steps("decay", std::max(1.0, kDefaultShare * span));
            if (!(D > 0))
              throw std::invalid_argument("schedule: decay 'wsd' needs decay_* above 0");
            if (o.steps("decay", 0) > span)
              throw std::invalid_argument("schedule: the decay of 'wsd' takes " +
                                          std::to_string(std::llround(D)) + " steps, but only " +
                                          std::to_string(std::llround(span)) +
                                          " follow the warm-up; shorten decay_* or train longer");
            const std::string shape = o.text("shape");
            const auto f = shape == "linear"   ? linear_shape
                           : shape == "cosine" ? cosine_shape
                                               : one_minus_sqrt;
            return schedule_of([start = span - D, D, f, last = o.real("final")](double t) {
              return last + (1 - last) * f(std::clamp((t - start) / D, 0.0, 1.0));
            });
          },
          Clock::warmup_end,
          "*"};
}

}  // namespace thalweg::engine
