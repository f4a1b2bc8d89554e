// sqrt: sqrt(k), k = batch / reference batch. Krizhevsky 2014 (arXiv:1404.5997).
#include <cmath>

#include "engine/schedule/table.h"

namespace thalweg::engine {

ScalingEntry scaling_sqrt() {
  return {"sqrt",
          "with the square root of the batch",
          {scaling_batch_option()},
          [](const ScheduleOptions& o) { return std::sqrt(batch_ratio(o)); }};
}

}  // namespace thalweg::engine
