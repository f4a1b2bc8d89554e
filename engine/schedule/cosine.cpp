// cosine: final + (1 - final) (1 + cos(pi t / T)) / 2, then final, or up again. Loshchilov & Hutter
// 2017 (arXiv:1608.03983), eq. 5; PyTorch's CosineAnnealingLR goes up again after T.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "engine/schedule/table.h"

namespace thalweg::engine {

DecayEntry cosine() {
  std::vector<jobspec::Option> options =
      span_options("decay", "T; from the warm-up's end to the end of training if not set");
  options.push_back(final_option());
  options.push_back(flag_option("periodic", false, "after T the rate rises again, for another T"));
  return {
      "cosine",
      "half a cosine down to `final`",
      std::move(options),
      [](const ScheduleOptions& o) {
        const double T = std::max(1.0, o.steps("decay", o.context().span()));
        return schedule_of([T, last = o.real("final"), periodic = o.flag("periodic")](double t) {
          const double phase = periodic ? t / T : std::min(1.0, t / T);
          return last + (1 - last) * (1 + std::cos(std::numbers::pi * phase)) / 2;
        });
      },
      Clock::warmup_end,
      "decay"};
}

}  // namespace thalweg::engine
