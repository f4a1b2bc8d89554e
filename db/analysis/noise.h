// What trials have measured of their gradient noise scale (McCandlish et al., arXiv:1812.06162).
#pragma once

#include <cstdint>
#include <map>

#include "db/store.h"

namespace thalweg::db::analysis {

/// Of one sweep, by trial: the settled value (jobspec/advise/formulas.h, settled_noise()), 0 where
/// a trial measured it for too short a time.
std::map<std::int64_t, double> noise_scales(ReadStore& store, std::int64_t sweep);

}  // namespace thalweg::db::analysis
