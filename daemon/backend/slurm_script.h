// What a Slurm job consists of, as pure functions: the batch script, its environment, its warning.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "jobspec/sweep.h"
#include "jobspec/trial.h"

namespace thalweg::daemon {

struct BatchScript {
  jobspec::Id id;
  std::filesystem::path folder;  ///< attempt folder, holds trial.yaml
  jobspec::Resources resources;
  std::vector<std::string> setup;  ///< shell lines of the user; the first that fails ends the job
  std::string srun = "srun";
  std::string train_program;
};

/// The whole text, with "#!". Everything but the setup lines is quoted for sh.
std::string batch_script(const BatchScript& job);

/// 'it'\''s': one word for sh, whatever it holds.
std::string shell_word(const std::string& text);

/// Slurm counts in minutes, rounded up.
std::int64_t time_limit_minutes(const jobspec::Resources& resources);

/// How long before the time limit Slurm shall send SIGUSR1 to the ranks, in seconds; 0 = not at
/// all. It may come up to a minute earlier than asked for, so short jobs get a shorter warning or
/// none: a rank must not be stopped at once.
int warning_seconds(const jobspec::Resources& resources, std::int64_t wanted_s);

/// How long a job has run at the least when that warning comes, in seconds; 0 = none comes.
std::int64_t earliest_warning_s(const jobspec::Resources& resources, std::int64_t wanted_s);

/// The entries (NAME=value) that a job takes over: all but those of another Slurm job, of MPI
/// launchers and of this machine's session (terminal, ssh, D-Bus, systemd). SLURM_CONF stays.
std::vector<std::string> job_environment(const std::vector<std::string>& entries);

}  // namespace thalweg::daemon
