// Warm-ups. linear: from + (1 - from) (t + 1) / W (Goyal et al. 2017, arXiv:1706.02677, in the
// per-iteration form that Horovod's callback uses: the last warm-up step has the full rate);
// warmup_offset 0 gives the t / W form.
#include <cmath>

#include "engine/schedule/table.h"

namespace thalweg::engine {
namespace {

std::int64_t linear_steps(const ScheduleOptions& o) {
  return std::llround(o.steps("warmup", static_cast<double>(o.length().steps_per_epoch)));
}

}  // namespace

WarmupEntry no_warmup() {
  return {"none",
          "full rate from the first step",
          {},
          [](const ScheduleOptions&) -> std::int64_t { return 0; },
          [](const ScheduleOptions&) { return schedule_of([](double) { return 1.0; }); }};
}

WarmupEntry linear_warmup() {
  std::vector<jobspec::Option> options =
      span_options("warmup", "length of the warm-up; one epoch if not set");
  options.push_back(number_option("warmup_from", 0.0, 0, 1, "share of the base rate at its start"));
  options.push_back(
      number_option("warmup_offset", 1.0, 0, 1,
                    "1: the last warm-up step has the full rate; 0: the first has warmup_from"));
  return {"linear", "rises in a straight line", std::move(options), linear_steps,
          [](const ScheduleOptions& o) {
            const double W = static_cast<double>(linear_steps(o));
            return schedule_of([W, from = o.real("warmup_from"), offset = o.real("warmup_offset")](
                                   double t) { return from + (1 - from) * (t + offset) / W; });
          }};
}

}  // namespace thalweg::engine
