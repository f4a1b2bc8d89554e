#include "engine/device/cuda/kernel_choice.h"

#include <algorithm>

namespace thalweg::engine::cuda {
namespace {

/// Counting the algorithms makes all of them, which may take seconds: only where the number is
/// wrong.
std::optional<int> algorithm_named(const gpu::Call& call, const AlgorithmTime& measured) {
  if (call.algorithm_name(measured.algorithm) == measured.name) return measured.algorithm;
  for (int algorithm = 0; algorithm < call.algorithms(); ++algorithm)
    if (call.algorithm_name(algorithm) == measured.name) return algorithm;
  return std::nullopt;
}

std::optional<int> measured_within(const gpu::Call& call, const KernelOptions& options,
                                   std::size_t bound) {
  if (options.times == nullptr) return std::nullopt;
  const auto measured = options.times->find(call.key());
  if (measured == options.times->end()) return std::nullopt;
  const auto best = fastest_within(measured->second, bound);
  return best ? algorithm_named(call, *best) : std::nullopt;
}

int first_within(const gpu::Call& call, std::size_t bound) {
  int algorithm = 0;
  while (call.workspace(algorithm) > bound)
    ++algorithm;
  return algorithm;
}

}  // namespace

std::optional<AlgorithmTime> fastest_within(const CallTimes& times, std::size_t bound) {
  std::optional<AlgorithmTime> best;
  for (const AlgorithmTime& algorithm : times.algorithms)
    if (algorithm.workspace <= bound && (!best || algorithm.ms < best->ms)) best = algorithm;
  return best;
}

int choose_algorithm(const gpu::Call& call, const KernelOptions& options) {
  if (const auto algorithm = measured_within(call, options, options.workspace)) return *algorithm;
  if (call.workspace(0) <= options.workspace) return 0;
  std::size_t least = call.workspace(0);
  for (int algorithm = 1; algorithm < call.algorithms(); ++algorithm)
    least = std::min(least, call.workspace(algorithm));
  if (least <= options.workspace) return first_within(call, options.workspace);
  const std::size_t bound = near_least(least);
  return measured_within(call, options, bound).value_or(first_within(call, bound));
}

}  // namespace thalweg::engine::cuda
