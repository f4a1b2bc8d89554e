// linear (gradual): from + (1 - from) (t + 1) / W. Goyal et al. 2017 (arXiv:1706.02677) in the
// per-iteration form of Horovod's callback: the last warm-up step has the full rate; with batch
// scaling it begins at the unscaled rate. warmup_offset 0 gives the t / W form.
#include <cmath>

#include "engine/schedule/table.h"

namespace thalweg::engine {

std::vector<jobspec::Option> rising_options() {
  std::vector<jobspec::Option> options =
      span_options("warmup", "length of the warm-up; one epoch if not set");
  jobspec::Option from = float_option(
      "warmup_from", "auto", 0, 1,
      "share of the full rate at its start; auto = the unscaled rate where batch scaling raises "
      "it, otherwise 0");
  from.or_auto = true;
  options.push_back(std::move(from));
  options.push_back(
      float_option("warmup_offset", 1.0, 0, 1,
                   "1: the last warm-up step has the full rate; 0: the first has warmup_from"));
  return options;
}

std::int64_t warmup_length(const ScheduleOptions& o) {
  return std::llround(o.steps("warmup", o.epoch()));
}

double warmup_from(const ScheduleOptions& o) {
  if (!o.is_auto("warmup_from")) return o.real("warmup_from");
  return o.context().scale > 1 ? 1 / o.context().scale : 0;
}

WarmupEntry warmup_linear() {
  return {"linear", "rises in a straight line", rising_options(), warmup_length,
          [](const ScheduleOptions& o) {
            const auto W = static_cast<double>(warmup_length(o));
            return schedule_of([W, from = warmup_from(o), offset = o.real("warmup_offset")](
                                   double t) { return from + (1 - from) * (t + offset) / W; });
          }};
}

}  // namespace thalweg::engine
