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

struct SlurmOptions {
  SlurmRequest options;                   ///< what was set of sbatch's options, in canonical form
  std::vector<std::string> srun;          ///< options for srun, as "--cpu-bind=cores"
  std::string mpi = "pmix";               ///< srun --mpi: pmix or one of its versions
  std::vector<std::string> setup;         ///< shell lines before srun (module load ...)
  std::int64_t signal_before_end_s = 60;  ///< SIGUSR1 this long before the time limit

  /// The option's value; empty where it is not set (or a flag).
  std::string option(const std::string& name) const;
};

/// Of the block: partition, account, ..., sbatch, srun, mpi, setup, signal_before_end_s.
const std::vector<std::string>& slurm_keys();

/// Puts in what `value` says under one of slurm_keys(); mistakes go to `diagnostics` under `path`
/// ("slurm.partition"), and change nothing.
void read_slurm_key(std::string_view key, const Value& value, const std::string& path,
                    SlurmOptions& slurm, Diagnostics& diagnostics);

/// The inverse, in the form of the sweep file; what has its default is left out.
Value write_slurm(const SlurmOptions& slurm);

}  // namespace thalweg::jobspec
