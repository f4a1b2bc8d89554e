// Which way each call of a library takes, where faster ways may want more workspace: the least time
// within a bound of bytes (Zou et al., arXiv:1709.06622, who choose the algorithms of convolutions
// under what a GPU's memory leaves them). Pure functions; exact.
//
// choose_in_turn() is for calls that run one after another, whose workspaces share the arena, as
// the device's do: what is bounded is the largest of them, not their sum, and every call chooses
// alone. choose_together() is the integer program as published, for workspaces that all stand at
// once: bench_kernels tells what sharing saves.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "engine/device/kernels.h"
#include "engine/gpu/library.h"

namespace thalweg::engine::cuda {

struct Way {
  double time = 0;            ///< any unit, at least 0
  std::size_t workspace = 0;  ///< bytes
};
/// Of one call; at least one.
using Ways = std::vector<Way>;

/// The number of each call's way, the first of equal ones: least time with at most `bound` bytes
/// each. Nothing where a call has no such way.
std::optional<std::vector<int>> choose_in_turn(const std::vector<Ways>& calls, std::size_t bound);

/// The number of each call's way: the least sum of times with at most `bound` bytes in all. Nothing
/// where no choice fits. Steps through what is worth keeping of the first k calls' choices, and
/// leaves out what even fractions of ways could not make the best (the linear relaxation).
std::optional<std::vector<int>> choose_together(const std::vector<Ways>& calls, std::size_t bound);

/// choose_in_turn() of one call that was measured.
std::optional<WayTime> fastest_within(const CallTimes& times, std::size_t bound);

/// The way of `call` that KernelOptions say. What was measured of a way that the library now calls
/// by another name is not believed.
int choose_way(const gpu::Call& call, const KernelOptions& options);

}  // namespace thalweg::engine::cuda
