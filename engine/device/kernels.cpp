#include "engine/device/kernels.h"

#include <algorithm>

#include "engine/device/cuda/kernel_choice.h"

namespace thalweg::engine {
namespace {

using cuda::Ways;

/// Null where it was not measured.
const CallTimes* times_of(const CallKind& kind, const KernelTimes& times) {
  const auto found = times.find(kind.key);
  return found == times.end() || found->second.ways.empty() ? nullptr : &found->second;
}

double least_ms(const std::vector<WayTime>& ways) {
  return std::min_element(ways.begin(), ways.end(),
                          [](const WayTime& a, const WayTime& b) { return a.ms < b.ms; })
      ->ms;
}

/// Where none fits the way that wants least is taken.
double ms_within(const CallTimes& call, std::size_t bound) {
  if (const auto chosen = cuda::fastest_within(call, bound)) return chosen->ms;
  return std::min_element(
             call.ways.begin(), call.ways.end(),
             [](const WayTime& a, const WayTime& b) { return a.workspace < b.workspace; })
      ->ms;
}

}  // namespace

StepTimes step_times(const std::vector<CallKind>& kinds, const KernelTimes& times,
                     std::size_t bound) {
  StepTimes sum;
  for (const CallKind& kind : kinds) {
    const CallTimes* const measured = times_of(kind, times);
    if (measured == nullptr) continue;
    sum.first += kind.runs * measured->ways.front().ms;
    sum.best += kind.runs * least_ms(measured->ways);
    sum.chosen += kind.runs * ms_within(*measured, bound);
  }
  return sum;
}

std::optional<double> step_time_side_by_side(const std::vector<CallKind>& kinds,
                                             const KernelTimes& times, std::size_t bound) {
  std::vector<Ways> calls;
  for (const CallKind& kind : kinds) {
    const CallTimes* const measured = times_of(kind, times);
    if (measured == nullptr) continue;
    Ways ways;
    for (const WayTime& way : measured->ways)
      ways.push_back({way.ms * kind.runs / kind.calls, way.workspace});
    calls.insert(calls.end(), static_cast<std::size_t>(kind.calls), ways);
  }
  const auto chosen = cuda::choose_together(calls, bound);
  if (!chosen) return std::nullopt;
  double sum = 0;
  for (std::size_t c = 0; c < calls.size(); ++c)
    sum += calls[c][static_cast<std::size_t>((*chosen)[c])].time;
  return sum;
}

}  // namespace thalweg::engine
