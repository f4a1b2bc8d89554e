// constant: a low rate, then the full one at once. Goyal et al. 2017 (arXiv:1706.02677), sec. 2.2.
#include <stdexcept>

#include "engine/schedule/table.h"

namespace thalweg::engine {

WarmupEntry warmup_constant() {
  std::vector<jobspec::Option> options = rising_options();
  options.pop_back();  // an offset means nothing here
  return {"constant", "stays at warmup_from, then jumps to the full rate", std::move(options),
          warmup_length, [](const ScheduleOptions& o) {
            const double from = warmup_from(o);
            if (!(from > 0))
              throw std::invalid_argument(
                  "schedule.warmup_from: a constant warm-up at rate 0 learns nothing; set a share "
                  "above 0 (auto is one only where batch scaling raises the rate)");
            return schedule_of([from](double) { return from; });
          }};
}

}  // namespace thalweg::engine
