#include "daemon/backend/slurm_script.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace thalweg::daemon {
namespace {

constexpr std::int64_t minute_s = 60;

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

std::string batch_script(const BatchScript& job) {
  const jobspec::Resources& r = job.resources;
  // A login shell, so that `module` works in the user's lines.
  std::string text = job.setup.empty() ? "#!/bin/sh\n" : "#!/bin/bash -l\n";
  text +=
      "# Thalweg " + job.id.to_string() + ": written by the controller; Slurm runs its own copy.\n";
  if (!job.setup.empty()) {
    text += "set -e\n";
    for (const std::string& line : job.setup)
      text += line + "\n";
    text += "set +e\n";
  }
  // exec: the job's exit code is srun's. Every number is given: jobs that come through the library
  // lack the variables that sbatch would set, and since 22.05 srun no longer takes cpus-per-task
  // from the job.
  text += "exec " + shell_word(job.srun) + " --mpi=pmix --kill-on-bad-exit=1 --input=none \\\n";
  text += "  --nodes=" + std::to_string(r.nodes) + " --ntasks=" + std::to_string(r.ranks()) +
          " --ntasks-per-node=" + std::to_string(r.ranks_per_node) +
          " --cpus-per-task=" + std::to_string(r.threads_per_rank) + " --distribution=block \\\n";
  text += "  " + shell_word(job.train_program) + " " +
          shell_word((job.folder / "trial.yaml").string()) + "\n";
  return text;
}

std::int64_t time_limit_minutes(const jobspec::Resources& resources) {
  return std::max<std::int64_t>(1, (resources.time_limit_s + minute_s - 1) / minute_s);
}

int warning_seconds(const jobspec::Resources& resources, std::int64_t wanted_s) {
  constexpr std::int64_t longest_s = 65535;  // Slurm keeps 16 bits
  const std::int64_t limit_s = time_limit_minutes(resources) * minute_s;
  const std::int64_t half =
      (limit_s - minute_s) / 2;  // of what is left when it comes a minute early
  return static_cast<int>(std::clamp<std::int64_t>(std::min(wanted_s, half), 0, longest_s));
}

std::int64_t earliest_warning_s(const jobspec::Resources& resources, std::int64_t wanted_s) {
  const int warning_s = warning_seconds(resources, wanted_s);
  if (warning_s == 0) return 0;
  return (time_limit_minutes(resources) - 1) * minute_s - warning_s;
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
