// What config.yaml, the site's and the user's, says about every sweep: caps, defaults for the
// `slurm` block, and what a sweep file may not change. `thalwegd --limits` prints it as JSON, so
// that `thalweg validate` knows it without a controller.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "jobspec/keep.h"
#include "jobspec/prices.h"
#include "jobspec/slurm_block.h"

namespace thalweg::jobspec {

struct SiteLimits {
  int max_nodes_per_job = 64;  ///< the site's cap; the sweep's own may only lower it
  /// Of one sweep. A person cannot mean more; a controller should not have to hold more.
  std::int64_t max_trials = 1'000'000;
  std::string max_trials_from;      ///< in messages, where no file says so; not in JSON
  std::int64_t gpu_memory_mib = 0;  ///< of one GPU of the compute nodes; 0 = not known
  SlurmOptions slurm;               ///< what the `slurm` block starts from
  Keep keep;                        ///< what `keep` starts from
  Prices prices;
  /// Setting ("max_nodes_per_job", "slurm.partition") -> the file that says so.
  std::map<std::string, std::string> sources;
  /// Settings of the `slurm` and `keep` blocks that a sweep file may not change.
  std::set<std::string> locked;

  /// " (max_trials in FILE)", or nothing where no file says so.
  std::string source_of(const std::string& setting) const;
  std::string to_json() const;
  /// Throws InputError where it is not what to_json writes.
  static SiteLimits from_json(std::string_view json);
};

}  // namespace thalweg::jobspec
