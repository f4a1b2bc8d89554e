// The batch script and what belongs to it, as texts.
#include "daemon/backend/slurm_script.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "daemon/backend/slurm_request.h"

namespace thalweg::daemon {
namespace {

// Names, or beginnings of names where a star ends them.
constexpr std::array<std::string_view, 28> left_behind = {
    "SLURM_*",       "SLURMD_*",        "SBATCH_*",
    "SALLOC_*",      "SRUN_*",          "PMI_*",
    "PMIX_*",        "OMPI_*",          "HYDRA_*",
    "MPI_*",         "SSH_*",           "DBUS_*",
    "XDG_RUNTIME_*", "XDG_SESSION*",    "XDG_SEAT*",
    "XDG_VTNR",      "NOTIFY_SOCKET",   "LISTEN_*",
    "INVOCATION_ID", "WATCHDOG_*",      "JOURNAL_STREAM",
    "DISPLAY",       "WAYLAND_DISPLAY", "TERM",
    "TMUX*",         "OLDPWD",          "PWD",
    "SHLVL"};

bool matches(std::string_view name, std::string_view pattern) {
  if (pattern.back() != '*') return name == pattern;
  pattern.remove_suffix(1);
  return name.substr(0, pattern.size()) == pattern;
}

}  // namespace

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
          "# comment by which it finds the job, and the controller's environment.\n";
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

std::vector<std::string> job_environment(const std::vector<std::string>& entries) {
  std::vector<std::string> kept;
  for (const std::string& entry : entries) {
    const std::size_t equals = entry.find('=');
    if (equals == 0 || equals == std::string::npos) continue;
    const std::string_view name = std::string_view(entry).substr(0, equals);
    const bool stays = name == "SLURM_CONF" || std::none_of(left_behind.begin(), left_behind.end(),
                                                            [&](std::string_view pattern) {
                                                              return matches(name, pattern);
                                                            });
    if (stays) kept.push_back(entry);
  }
  return kept;
}

}  // namespace thalweg::daemon
