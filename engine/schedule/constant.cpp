// constant: 1.
#include "engine/schedule/table.h"

namespace thalweg::engine {

DecayEntry constant() {
  return {"constant", "the base rate throughout", {}, [](const ScheduleOptions&) {
            return schedule_of([](double) { return 1.0; });
          }};
}

}  // namespace thalweg::engine
