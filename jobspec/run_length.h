// Whether training the first steps depends on how many follow.
#pragma once

#include <string>

#include "jobspec/schema.h"

namespace thalweg::jobspec {

/// What of the resolved `train` tree takes the run's own length: "schedule.decay: cosine (without
/// decay_steps, decay_epochs or decay_samples)"; empty where nothing does: then a run can go on
/// beyond its end as if it had been longer from the start.
std::string depends_on_run_length(const Schema& schema, const Value& train);

}  // namespace thalweg::jobspec
