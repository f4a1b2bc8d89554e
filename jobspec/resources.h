// The `resources` and `metric` blocks, which the sweep file and trial.yaml share.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobspec/reader.h"
#include "jobspec/trial.h"

namespace thalweg::jobspec {

/// Keys: nodes (a number, or a range {min, max}), ranks_per_node, threads_per_rank, time, memory,
/// gpus_per_node. Mistakes go to `diagnostics`.
Resources read_resources(const Value& value, const std::string& path, Diagnostics& diagnostics);
/// nodes, ranks_per_node and so on: the keys of the block.
std::vector<std::string> resource_keys();
/// The inverse; zeros and empty things are left out. The same keys in the same order every time.
Value write_resources(const Resources& resources);

/// Keys: name (required), goal, target or targets.
Metric read_metric(const Value& value, const std::string& path, Diagnostics& diagnostics);
Value write_metric(const Metric& metric);

/// Seconds of "HH:MM:SS", "D-HH:MM:SS" or whole minutes; nothing where it is neither or not
/// positive.
std::optional<std::int64_t> parse_time(const Value& value);
/// "HH:MM:SS", with "D-" before it from one day on.
std::string format_time(std::int64_t seconds);
/// MiB of "4096" (MiB), "512M", "64G", "1T" (also MiB, GiB, TiB); nothing where it is neither.
std::optional<std::int64_t> parse_memory(const Value& value);

}  // namespace thalweg::jobspec
