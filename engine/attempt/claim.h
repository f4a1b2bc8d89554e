// Who may run an attempt: one start at a time, and none that the controller has given up. Slurm can
// start a job twice (slurmctld, killed, comes back with what it knew seconds ago), and can forget
// one that runs.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>

#include "jobspec/fwd.h"

namespace thalweg::engine {

/// This start has no business here: another one holds the attempt, or the controller has given the
/// attempt up. Nothing was written.
class Superseded : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Written by the controller into the folder of an attempt that it has given up.
inline constexpr const char* fence_name = "fenced";

/// Takes the attempt for this start: `claim` in its folder, a JSON object {job, step, host, pid,
/// start_time, boot_id, start, time}; job and step are Slurm's, `start` is this start's own. A
/// claim that is there is taken over where its start has ended (the journal says so, or its process
/// is gone from this machine); but never from the same Slurm job, which may run an attempt once
/// only. Throws Superseded, std::system_error. Rank 0 only.
void claim_attempt(const jobspec::Trial& trial, const std::filesystem::path& folder);

enum class Standing { ours, fenced, gone };
/// Whether the controller has given the attempt up, or its folder is gone: as the disk has it now
/// and not as some cache remembers it.
Standing standing_of(const std::filesystem::path& folder);

}  // namespace thalweg::engine
