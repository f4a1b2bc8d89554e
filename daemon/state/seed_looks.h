// Sweeps whose seeds depend on looks (jobspec/seed_looks.h): when one is due, and what people are
// told. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/state/state.h"

namespace thalweg::daemon {

/// The number, from 1, of the look that is to be taken now: all trials that there are have ended,
/// and neither has somebody cancelled the sweep nor is it stopped. The sweep ends after the last.
std::optional<std::int64_t> due_look(const SweepState& sweep);

/// Where the looks are, then why configurations were closed, a sentence each; empty without looks.
std::vector<std::string> describe_looks(const SweepState& sweep);

/// Trials that there may be in the end, with those that there are; those without looks.
std::int64_t max_trials(const SweepState& sweep);

}  // namespace thalweg::daemon
