// The batch script and what belongs to it, as texts.
#include "daemon/backend/slurm_script.h"

#include <algorithm>

#include "daemon/backend/slurm_request.h"

namespace thalweg::daemon {

std::string shell_word(const std::string& text) {
  std::string word = "'";
  for (char c : text)
    word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

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
  if (!setup.empty()) {
    text += setup_begin;
    for (const std::string& line : setup)
      text += line + "\n";
    text += setup_end;
  }
  // exec: the job's exit code is srun's. Every number is given: jobs that come through the library
  // lack the variables that sbatch would set, and since 22.05 srun no longer takes cpus-per-task
  // from the job.
  text += "exec " + shell_word(job.srun) + " --mpi=" + job.request.slurm.mpi +
          " --kill-on-bad-exit=1 --input=none \\\n";
  text += "  --nodes=" + std::to_string(r.nodes) + " --ntasks=" + std::to_string(r.ranks()) +
          " --ntasks-per-node=" + std::to_string(r.ranks_per_node) +
          " --cpus-per-task=" + std::to_string(r.threads_per_rank) + " --distribution=block \\\n";
  for (const std::string& option : job.request.slurm.srun)
    text += "  " + shell_word(option) + " \\\n";
  text += "  " + shell_word(job.train_program) + " " +
          shell_word((job.request.folder / "trial.yaml").string()) + "\n";
  return text;
}

}  // namespace thalweg::daemon
