#include "engine/device/cuda/kernel_choice.h"

#include <algorithm>

namespace thalweg::engine::cuda {
namespace {

/// Counting the ways makes all of them, which may take seconds: only where the number is wrong.
std::optional<int> way_named(const gpu::Call& call, const WayTime& measured) {
  if (call.way_name(measured.way) == measured.name) return measured.way;
  for (int way = 0; way < call.ways(); ++way)
    if (call.way_name(way) == measured.name) return way;
  return std::nullopt;
}

std::optional<int> measured_within(const gpu::Call& call, const KernelOptions& options,
                                   std::size_t bound) {
  if (options.times == nullptr) return std::nullopt;
  const auto measured = options.times->find(call.key());
  if (measured == options.times->end()) return std::nullopt;
  const auto best = fastest_within(measured->second, bound);
  return best ? way_named(call, *best) : std::nullopt;
}

int first_within(const gpu::Call& call, std::size_t bound) {
  int way = 0;
  while (call.workspace(way) > bound)
    ++way;
  return way;
}

}  // namespace

std::optional<WayTime> fastest_within(const CallTimes& times, std::size_t bound) {
  std::optional<WayTime> best;
  for (const WayTime& way : times.ways)
    if (way.workspace <= bound && (!best || way.ms < best->ms)) best = way;
  return best;
}

int choose_way(const gpu::Call& call, const KernelOptions& options) {
  if (const auto way = measured_within(call, options, options.workspace)) return *way;
  if (call.workspace(0) <= options.workspace) return 0;
  std::size_t least = call.workspace(0);
  for (int way = 1; way < call.ways(); ++way)
    least = std::min(least, call.workspace(way));
  if (least <= options.workspace) return first_within(call, options.workspace);
  const std::size_t bound = near_least(least);
  return measured_within(call, options, bound).value_or(first_within(call, bound));
}

}  // namespace thalweg::engine::cuda
