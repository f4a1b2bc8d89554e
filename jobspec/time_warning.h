// How long before its time limit an attempt is told to write a checkpoint.
#pragma once

#include <cstdint>

namespace thalweg::jobspec {

/// Of `wanted_s` at most half the limit, so that nothing is stopped at its start. 0: not at all.
std::int64_t warning_s(std::int64_t limit_s, std::int64_t wanted_s);

/// A job's limit in Slurm, which counts in minutes, rounded up.
std::int64_t slurm_limit_s(std::int64_t limit_s);

/// Whether Slurm's own signal does for such a warning: it may come a minute early, which of a short
/// job is too early.
bool slurm_warns_in_time(std::int64_t slurm_limit_s, std::int64_t warning_s);

}  // namespace thalweg::jobspec
