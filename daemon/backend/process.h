// Processes that outlive the controller: starting them in a session of their own, telling them
// apart from later ones with the same pid, and ending all of a session.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace thalweg::daemon {

/// Changes at every boot of the machine.
std::string boot_id();

/// Of a live process, in clock ticks since boot (field 22 of /proc/<pid>/stat): with the pid it
/// names one process for this boot. Nothing where there is none or it is a zombie.
std::optional<std::int64_t> process_start_time(pid_t pid);

struct DetachedProcess {
  std::vector<std::string> arguments;      ///< the first is the program, with its path
  std::filesystem::path directory;         ///< working directory
  std::filesystem::path out, err;          ///< appended to
  std::vector<std::string> environment{};  ///< NAME=value; empty = this process's own
};

/// Starts it as leader of a session of its own, with default signals and without our files. Throws
/// std::system_error.
pid_t start_detached(const DetachedProcess& process);

/// Live processes of a session, by the pid of its leader. A pid is not used again while its session
/// has members; afterwards it may be, by a stranger's session.
std::vector<pid_t> session_members(pid_t leader);

/// Whether a process carries the token or the folder of an attempt on its command line, or works in
/// the folder. False also where it cannot be seen: it is another user's then.
bool carries(pid_t pid, const std::string& token, const std::filesystem::path& folder);

}  // namespace thalweg::daemon
