// none: no warm-up.
#include "engine/schedule/table.h"

namespace thalweg::engine {

WarmupEntry warmup_none() {
  return {"none",
          "full rate from the first step",
          {},
          [](const ScheduleOptions&) -> std::int64_t { return 0; },
          [](const ScheduleOptions&) { return schedule_of([](double) { return 1.0; }); }};
}

}  // namespace thalweg::engine
