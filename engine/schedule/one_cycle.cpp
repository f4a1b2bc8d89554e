// one-cycle: the rate rises from 1/div to 1 and falls to 1/(div final_div); momentum the other way
// round. Smith & Topin 2017 (arXiv:1708.07120) in the form of PyTorch's OneCycleLR: the top is at
// step peak T - 1, the end at T - 1.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "engine/schedule/table.h"

namespace thalweg::engine {
namespace {

struct OneCycle {
  double top, end;  ///< steps
  double div, final_div;
  double low_momentum, high_momentum;
  bool linear, cycle_momentum;

  double between(double from, double to, double share) const {
    if (linear) return from + (to - from) * share;
    return to + (from - to) / 2 * (1 + std::cos(std::numbers::pi * share));
  }
  ScheduleValue operator()(double t) const {
    ScheduleValue value;
    const bool rising = t <= top;
    const double share = rising ? t / top : std::min(1.0, (t - top) / (end - top));
    value.lr = rising ? between(1 / div, 1, share) : between(1, 1 / (div * final_div), share);
    if (cycle_momentum)
      value.momentum = rising ? between(high_momentum, low_momentum, share)
                              : between(low_momentum, high_momentum, share);
    return value;
  }
};

}  // namespace

DecayEntry one_cycle() {
  std::vector<jobspec::Option> options =
      span_options("cycle", "T; from the warm-up's end to the end of training if not set");
  options.push_back(float_option("peak", 0.3, 0, 1, "share of T in which the rate rises"));
  options.push_back(float_option("div", 25.0, 1, 1e12, "the rate starts at 1/div"));
  options.push_back(float_option("final_div", 1e4, 1, 1e12, "and ends at 1/(div final_div)"));
  options.push_back(choice_option("shape", {"cosine", "linear"}, "of both halves"));
  options.push_back(flag_option("cycle_momentum", true,
                                "momentum (Adam's beta1) falls while the rate rises and back"));
  options.push_back(float_option("low_momentum", 0.85, 0, 1, "at the top of the rate"));
  options.push_back(float_option("high_momentum", 0.95, 0, 1, "at both ends"));
  return {"one-cycle",
          "up to the base rate and down to almost nothing, momentum against it",
          std::move(options),
          [](const ScheduleOptions& o) {
            const double T = o.steps("cycle", o.context().span());
            const double top = o.real("peak") * T - 1, end = T - 1;
            if (!(top > 0) || !(end > top))
              throw std::invalid_argument(
                  "schedule: decay 'one-cycle' has no step to rise or to fall in " +
                  std::to_string(std::llround(T)) +
                  " steps; make the cycle longer or move peak (0.3) from the edge");
            const double low = o.real("low_momentum"), high = o.real("high_momentum");
            if (low > high)
              throw std::invalid_argument(
                  "schedule.low_momentum is above high_momentum; exchange them");
            return schedule_of(OneCycle{top, end, o.real("div"), o.real("final_div"), low, high,
                                        o.text("shape") == "linear", o.flag("cycle_momentum")});
          },
          Clock::warmup_end,
          "cycle"};
}

}  // namespace thalweg::engine
