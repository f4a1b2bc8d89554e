#include "daemon/backend/environment.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

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

std::string_view name_of(std::string_view entry) {
  return entry.substr(0, entry.find('='));
}

}  // namespace

std::vector<std::string> own_environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
    entries.emplace_back(*entry);
  return entries;
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

std::vector<std::string> chosen_entries(std::vector<std::string> entries,
                                        const std::vector<std::string>& names) {
  std::erase_if(entries, [&](const std::string& entry) {
    const std::string_view name = name_of(entry);
    return std::none_of(names.begin(), names.end(), [&](std::string_view wanted) {
      return wanted.ends_with('*') ? name.starts_with(wanted.substr(0, wanted.size() - 1))
                                   : name == wanted;
    });
  });
  return entries;
}

std::vector<std::string> with_changes(
    std::vector<std::string> entries,
    const std::vector<std::pair<std::string, std::optional<std::string>>>& changes) {
  for (const auto& [name, value] : changes) {
    std::erase_if(entries, [&name = name](const auto& entry) { return name_of(entry) == name; });
    if (value) entries.push_back(name + "=" + *value);
  }
  return entries;
}

std::string environment_misfit(const std::vector<std::string>& entries) {
  // execve's own limits: 32 pages a text, and for all of them a quarter of the stack, which is 2
  // MiB by default and holds the arguments, too.
  constexpr std::size_t longest = (std::size_t{128} << 10) - 1, most = std::size_t{3} << 19;
  std::size_t bytes = 0;
  for (const std::string& entry : entries) {
    bytes += entry.size() + 1 + sizeof(char*);
    if (entry.size() > longest)
      return "the environment variable " + std::string(name_of(entry)) + " has " +
             std::to_string(entry.size()) + " bytes, expected at most " + std::to_string(longest);
  }
  if (bytes <= most) return "";
  return "the environment has " + std::to_string(bytes) + " bytes, expected at most " +
         std::to_string(most) + ": no program could start with it";
}

}  // namespace thalweg::daemon
