#include "engine/device/kernels.h"

#include <algorithm>

#include "engine/device/cuda/kernel_choice.h"

namespace thalweg::engine {
namespace {

/// Null where it was not measured.
const CallTimes* times_of(const CallKind& kind, const KernelTimes& times) {
  const auto found = times.find(kind.key);
  return found == times.end() || found->second.algorithms.empty() ? nullptr : &found->second;
}

double min_ms(const std::vector<AlgorithmTime>& algorithms) {
  return std::min_element(
             algorithms.begin(), algorithms.end(),
             [](const AlgorithmTime& a, const AlgorithmTime& b) { return a.ms < b.ms; })
      ->ms;
}

/// As choose_algorithm() chooses: where none fits, among those that want about as little as can be.
double ms_within(const CallTimes& call, std::size_t bound) {
  if (const auto chosen = cuda::fastest_within(call, bound)) return chosen->ms;
  const auto leanest = std::min_element(
      call.algorithms.begin(), call.algorithms.end(),
      [](const AlgorithmTime& a, const AlgorithmTime& b) { return a.workspace < b.workspace; });
  return cuda::fastest_within(call, cuda::near_least(leanest->workspace))->ms;
}

}  // namespace

StepTimes step_times(const std::vector<CallKind>& kinds, const KernelTimes& times,
                     std::size_t bound) {
  StepTimes sum;
  for (const CallKind& kind : kinds) {
    const CallTimes* const measured = times_of(kind, times);
    if (measured == nullptr) continue;
    sum.first += kind.runs * measured->algorithms.front().ms;
    sum.best += kind.runs * min_ms(measured->algorithms);
    sum.chosen += kind.runs * ms_within(*measured, bound);
  }
  return sum;
}

}  // namespace thalweg::engine
