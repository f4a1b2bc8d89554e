// Which algorithm each call of a library takes, where faster algorithms may want more workspace:
// the least time within a bound of bytes. Calls run one after another and their workspaces share
// the arena: what is bounded is the largest of them, not their sum, and every call chooses alone.
// Pure functions.
#pragma once

#include <cstddef>
#include <optional>

#include "engine/device/kernels.h"
#include "engine/gpu/library.h"

namespace thalweg::engine::cuda {

/// What is allowed where no algorithm wants at most the bound, of which the leanest wants `least`
/// bytes: a little more, so that a slow kernel is not taken for the sake of a few bytes.
constexpr std::size_t near_least(std::size_t least) {
  return least + least / 20;
}

/// The fastest measured algorithm with at most `bound` bytes, the first of equal ones. Nothing
/// where there is none.
std::optional<AlgorithmTime> fastest_within(const CallTimes& times, std::size_t bound);

/// The algorithm of `call` that KernelOptions say. What was measured is known by the algorithm's
/// name, wherever the library has it now; of an algorithm that it no longer has it is not believed.
int choose_algorithm(const gpu::Call& call, const KernelOptions& options);

}  // namespace thalweg::engine::cuda
