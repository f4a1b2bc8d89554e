// What sbatch would have checked and slurmctld does not, and why a job cannot run here, in words.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace thalweg::slurm_agent {

/// A mistake that Slurm would accept and the node then trip over: no "#!", DOS line ends, NUL, a
/// folder that is missing. `folder` and `outputs` are absolute paths; looks at the file system for
/// them.
std::optional<std::string> script_mistake(const std::string& script, const std::string& folder,
                                          const std::vector<std::string>& outputs);

/// The path that an output option means, in which "%%" stands for "%". Nothing where it holds a
/// backslash (which would switch Slurm's expansion off for good).
std::optional<std::string> plain_path(const std::string& literal);

struct NodeSize {
  int cpus = 0;
  std::int64_t memory_mib = 0;
};

struct Partition {
  std::string name;
  bool is_default = false;
  bool submittable = true;  ///< takes submissions
  bool schedulable = true;  ///< starts jobs
  std::int64_t min_nodes = 0;
  std::int64_t max_nodes = 0;    ///< 0 = no limit
  std::int64_t max_minutes = 0;  ///< 0 = no limit
  std::vector<NodeSize> nodes;   ///< of all its nodes, down ones too
};

/// What a job asks for, as far as partitions limit it.
struct Shape {
  std::string partition;  ///< empty = the default one; or several, with commas
  std::int64_t nodes = 1;
  std::int64_t tasks_per_node = 1;
  std::int64_t cpus_per_task = 1;
  std::int64_t memory_mib = 0;  ///< per node
  std::int64_t minutes = 0;
};

/// Why such a job can never run in its partition, naming both numbers; nothing where no reason is
/// found. One reason per partition where several are named, and none as soon as one of them fits.
std::optional<std::string> impossible(const Shape& shape, const std::vector<Partition>& partitions);

}  // namespace thalweg::slurm_agent
