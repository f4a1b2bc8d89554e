// The `slurm` block, which sweep files and config.yaml share: keys of its own for the options that
// everybody uses, and any other option of sbatch and srun as it is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jobspec/fwd.h"
#include "jobspec/slurm_options.h"

namespace thalweg::jobspec {

/// Trials that share jobs.
struct Pack {
  int trials = 0;                 ///< at once in one job; 0 = each attempt is a job of its own
  int jobs = 1;                   ///< at once
  std::int64_t time_limit_s = 0;  ///< of a job; 0 = pack_limit_s() of its trials' limit

  friend bool operator==(const Pack&, const Pack&) = default;
};

/// A job's time limit for trials with this limit, in seconds.
std::int64_t pack_limit_s(const Pack& pack, std::int64_t trial_limit_s);

struct SlurmOptions {
  SlurmRequest options;                   ///< what was set of sbatch's options, in canonical form
  std::vector<std::string> srun;          ///< options for srun, as "--cpu-bind=cores"
  std::string mpi = "pmix";               ///< srun --mpi: pmix or one of its versions
  std::vector<std::string> setup;         ///< shell lines before srun (module load ...)
  std::int64_t signal_before_end_s = 60;  ///< SIGUSR1 this long before the time limit
  Pack pack;

  /// The option's value; empty where it is not set (or a flag).
  std::string option(const std::string& name) const;
};

/// Of the block: partition, account, ..., sbatch, srun, mpi, setup, signal_before_end_s, pack.
const std::vector<std::string>& slurm_keys();

/// Puts in what `value` says under one of slurm_keys(); mistakes go to `diagnostics` under `path`
/// ("slurm.partition"), and change nothing.
void read_slurm_key(std::string_view key, const Value& value, const std::string& path,
                    SlurmOptions& slurm, Diagnostics& diagnostics);

/// The inverse, in the form of the sweep file; what has its default is left out.
Value write_slurm(const SlurmOptions& slurm);

}  // namespace thalweg::jobspec
