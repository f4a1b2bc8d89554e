// Times one collective, and what the numbers say.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/comm/group.h"
#include "engine/perf/options.h"
#include "engine/perf/subjects.h"

namespace thalweg::engine::perf {

/// Microseconds; pNN: so many of a hundred calls took no longer (nearest rank).
struct Latency {
  double min = 0, p50 = 0, p95 = 0, p99 = 0, max = 0, mean = 0;
};
Latency latency_of(std::vector<double> us);  ///< not empty

/// One line of the table.
struct Result {
  std::string collective;
  std::string choice;     ///< what was asked for
  std::string algorithm;  ///< what ran; empty where there is no choice
  std::size_t bytes = 0;
  std::size_t count = 0;
  std::size_t calls = 0;
  Latency us;
  double algorithm_bandwidth = 0;      ///< GB/s (10^9), bytes / p50
  double bus_bandwidth = 0;            ///< GB/s
  std::optional<std::uint64_t> wrong;  ///< elements, over all ranks; empty: not checked
};

/// Collective. Every call's time is that of the slowest rank. Calls follow one another without a
/// barrier, as OSU's do, unless the subject's ranks may run ahead of each other or the buffers are
/// rewritten in between. Empty where a rank was asked to stop (`stop`, of each rank) half-way.
std::optional<Result> measure(comm::Group& group, const Subject& subject, const std::string& choice,
                              std::size_t bytes, const Options& options,
                              const std::atomic<bool>& stop);

/// True on all ranks as soon as it is on one. Collective.
bool any_rank(comm::Group& group, bool mine);

}  // namespace thalweg::engine::perf
