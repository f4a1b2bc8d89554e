// How long before its time limit an attempt is told to write a checkpoint.
#pragma once

#include <cstdint>
#include <string>

namespace thalweg::jobspec {

/// Of `wanted_s`, what is left of a job's limit in Slurm, which warns up to a minute early: no more
/// than half of what remains then, so that no job is stopped at its start. 0: not at all.
std::int64_t slurm_warning_s(std::int64_t limit_s, std::int64_t wanted_s);

/// On this machine, where the warning comes in time.
std::int64_t local_warning_s(std::int64_t limit_s, std::int64_t wanted_s);

/// What is said of a Slurm job whose limit leaves no time for a warning; empty where it does.
std::string no_warning_note(std::int64_t limit_s);

}  // namespace thalweg::jobspec
