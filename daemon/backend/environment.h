// The environment that attempts start with: the submitter's, as with sbatch.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace thalweg::daemon {

/// This process's entries (NAME=value).
std::vector<std::string> own_environment();

/// The entries that an attempt takes over: all but those of another Slurm job, of MPI launchers and
/// of one machine's session (terminal, ssh, D-Bus, systemd). SLURM_CONF stays.
std::vector<std::string> job_environment(const std::vector<std::string>& entries);

/// The entries of these names; "X*" stands for all that begin with X.
std::vector<std::string> chosen_entries(std::vector<std::string> entries,
                                        const std::vector<std::string>& names);

/// The entries with variables set, or removed where there is no value.
std::vector<std::string> with_changes(
    std::vector<std::string> entries,
    const std::vector<std::pair<std::string, std::optional<std::string>>>& changes);

/// Why no program could start with it (the kernel's limits); empty where it could.
std::string environment_misfit(const std::vector<std::string>& entries);

}  // namespace thalweg::daemon
