// The batch script and what belongs to it, as texts.
#include "daemon/backend/slurm_script.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/shell.h"
#include "daemon/backend/slurm_request.h"
#include "daemon/pack/folder.h"

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

/// What the ranks of an attempt are on one node, and for srun.
struct Layout {
  bool once, each_rank;
  int on_node, cores;

  explicit Layout(const LaunchRequest& request)
      : once(request.launch == jobspec::LaunchMode::once),
        each_rank(request.launch == jobspec::LaunchMode::per_rank),
        on_node(each_rank ? request.resources.ranks_per_node : 1),
        cores(each_rank ? request.resources.threads_per_rank
                        : request.resources.ranks_per_node * request.resources.threads_per_rank) {}
};

std::string setup_lines(const LaunchRequest& request) {
  if (request.slurm.setup.empty()) return "";
  std::string text = setup_begin;
  for (const std::string& line : request.slurm.setup)
    text += line + "\n";
  return text + setup_end;
}

std::string sbatch_text(const LaunchRequest& request) {
  std::string text;
  for (const std::string& line : sbatch_lines(slurm_request(request)))
    text += line + "\n";
  return text;
}

/// exec, so that the job ends with its worker, which counts the job's time from this shell's start.
std::string shared_script(const BatchScript& job) {
  const LaunchRequest& request = job.request;
  return "# Thalweg, sweep " + attempt_name(request.id) + ": up to " +
         std::to_string(request.shared->trials) +
         " trials at once share this job, each as a step of its own. It takes\n"
         "# them out of the queue in its folder and ends when nothing is left to do.\n" +
         sbatch_text(request) + setup_lines(request) + "exec " +
         shell_quoted(request.shared->worker) + " \\\n  " + shell_quoted(request.folder.string()) +
         "\n";
}

}  // namespace

std::vector<std::string> shared_step(const BatchScript& job) {
  const LaunchRequest& request = job.request;
  const jobspec::Resources& r = request.resources;
  const Layout layout(request);
  std::vector<std::string> words = {
      job.srun, std::string("--mpi=") + (layout.once ? "none" : request.slurm.mpi), "--exact",
      "--kill-on-bad-exit=1", "--input=none", "--job-name=thalweg-" + attempt_name(request.id),
      "--chdir=" + request.folder.string(), "--nodes=1",
      "--ntasks=" + std::to_string(layout.on_node),
      "--ntasks-per-node=" + std::to_string(layout.on_node),
      "--cpus-per-task=" + std::to_string(layout.cores), "--distribution=block",
      // 0: all that the job has there, without keeping it from other steps.
      r.memory_mib > 0 ? "--mem-per-cpu=" + std::to_string(memory_per_core(r)) + "M"
                       : std::string("--mem=0")};
  if (r.gpus_per_node > 0) words.push_back("--gpus-per-node=" + std::to_string(r.gpus_per_node));
  words.insert(words.end(), request.slurm.srun.begin(), request.slurm.srun.end());
  words.insert(words.end(), {request.shared->worker, "--start", pack::start_word, "--", job.program,
                             (request.folder / "trial.yaml").string()});
  return words;
}

std::string batch_script(const BatchScript& job) {
  const jobspec::Resources& r = job.request.resources;
  const std::vector<std::string>& setup = job.request.slurm.setup;
  // A login shell, so that `module` works in the user's lines.
  std::string text = setup.empty() ? "#!/bin/sh\n" : "#!/bin/bash -l\n";
  if (job.request.shared) return text + shared_script(job);
  text += "# Thalweg attempt " + attempt_name(job.request.id) +
          ". `sbatch batch.sh` asks for the same job; Thalweg itself adds --hold, a\n"
          "# comment by which it finds the job, and the submitter's environment.\n";
  text += sbatch_text(job.request);
  // The controller reads what ranks write through the folder's group; nobody else does.
  if (job.request.identity) text += "umask 0007\n";
  text += setup_lines(job.request);
  text += own_warning(job.request);
  // exec: the job's exit code is srun's. Every number is given: jobs that come through the library
  // lack the variables that sbatch would set, and since 22.05 srun no longer takes cpus-per-task
  // from the job.
  // Once: a step, since signals go to steps, that leaves all of the allocation to the program's own
  // srun or mpirun.
  const auto [once, each_rank, on_node, cores] = Layout(job.request);
  // Of a range Slurm chooses; the number is known in the job.
  const std::string nodes = once          ? "1"
                            : r.elastic() ? "\"$SLURM_JOB_NUM_NODES\""
                                          : std::to_string(r.nodes);
  const std::string ranks = once ? "1"
                            : r.elastic()
                                ? "$((SLURM_JOB_NUM_NODES * " + std::to_string(on_node) + "))"
                                : std::to_string(r.nodes * on_node);
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
