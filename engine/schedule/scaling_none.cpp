// none: the base rate, whatever the batch.
#include "engine/schedule/table.h"

namespace thalweg::engine {

ScalingEntry scaling_none() {
  return {"none", "the same rate for every batch", {}, [](const ScheduleOptions&) { return 1.0; }};
}

}  // namespace thalweg::engine
