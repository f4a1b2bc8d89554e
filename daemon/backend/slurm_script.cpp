// The batch script and what belongs to it, as texts.
#include "daemon/backend/slurm_script.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/shell.h"
#include "daemon/backend/slurm_request.h"

namespace thalweg::daemon {

namespace {

// A line that fails is the user's mistake: exit code 2 is not tried again, and the line is named
// last in stderr.log (of a function such as `module`, the line that called it).
constexpr const char* setup_begin =
    "set -eE\n"
    "trap 'thalweg_line=$BASH_COMMAND; [ ${#FUNCNAME[@]} -le 1 ] || "
    "thalweg_line=$(sed -n \"${BASH_LINENO[-2]}p\" \"$0\")' ERR\n"
    "trap 'thalweg_exit=$?; echo \"slurm.setup failed (exit code $thalweg_exit): "
    "${thalweg_line:-$BASH_COMMAND}\" >&2; exit 2' EXIT\n";
constexpr const char* setup_end = "trap - ERR EXIT; set +eE\n";

/// srun, which the shell becomes, sends the signal on to the ranks. What setup took counts, but
/// srun is given a moment to begin.
std::string own_warning(const LaunchRequest& request) {
  const std::int64_t after_s =
      time_warning(request.resources, request.slurm.signal_before_end_s).by_script_after_s;
  if (after_s == 0) return "";
  constexpr std::int64_t moment_s = 5;
  const std::string left = request.slurm.setup.empty()
                               ? std::to_string(after_s)
                               : fmt::format("$((SECONDS < {} ? {} - SECONDS : {}))",
                                             after_s - moment_s, after_s, moment_s);
  return "# Slurm may warn a minute early, too early for so short a job.\n(sleep " + left +
         "; kill -USR1 $$) >/dev/null 2>&1 &\n";
}

}  // namespace

std::string batch_script(const BatchScript& job) {
  const jobspec::Resources& r = job.request.resources;
  const std::vector<std::string>& setup = job.request.slurm.setup;
  // A login shell, so that `module` works in the user's lines.
  std::string text = setup.empty() ? "#!/bin/sh\n" : "#!/bin/bash -l\n";
  text += "# Thalweg attempt " + attempt_name(job.request.id) +
          ". `sbatch batch.sh` asks for the same job; Thalweg itself adds --hold, a\n"
          "# comment by which it finds the job, and the submitter's environment.\n";
  for (const std::string& line : sbatch_lines(slurm_request(job.request)))
    text += line + "\n";
  // The controller reads what ranks write through the folder's group; nobody else does.
  if (job.request.identity) text += "umask 0007\n";
  if (!setup.empty()) {
    text += setup_begin;
    for (const std::string& line : setup)
      text += line + "\n";
    text += setup_end;
  }
  text += own_warning(job.request);
  // exec: the job's exit code is srun's. Every number is given: jobs that come through the library
  // lack the variables that sbatch would set, and since 22.05 srun no longer takes cpus-per-task
  // from the job.
  // Once: a step, since signals go to steps, that leaves all of the allocation to the program's own
  // srun or mpirun.
  const bool once = job.request.launch == jobspec::LaunchMode::once;
  const bool each_rank = job.request.launch == jobspec::LaunchMode::per_rank;
  const int on_node = each_rank ? r.ranks_per_node : 1;
  // Of a range Slurm chooses; the number is known in the job.
  const std::string nodes = once          ? "1"
                            : r.elastic() ? "\"$SLURM_JOB_NUM_NODES\""
                                          : std::to_string(r.nodes);
  const std::string ranks = once ? "1"
                            : r.elastic()
                                ? "$((SLURM_JOB_NUM_NODES * " + std::to_string(on_node) + "))"
                                : std::to_string(r.nodes * on_node);
  const int cores = each_rank ? r.threads_per_rank : r.ranks_per_node * r.threads_per_rank;
  text += "exec " + shell_quoted(job.srun) + " --mpi=" + (once ? "none" : job.request.slurm.mpi) +
          (once ? " --overlap" : "") + " --kill-on-bad-exit=1 --input=none \\\n";
  text += "  --nodes=" + nodes + " --ntasks=" + ranks +
          " --ntasks-per-node=" + std::to_string(on_node) +
          " --cpus-per-task=" + std::to_string(cores) + " --distribution=block \\\n";
  for (const std::string& option : job.request.slurm.srun)
    text += "  " + shell_quoted(option) + " \\\n";
  text += "  " + shell_quoted(job.program) + " " +
          shell_quoted((job.request.folder / "trial.yaml").string()) + "\n";
  return text;
}

}  // namespace thalweg::daemon
