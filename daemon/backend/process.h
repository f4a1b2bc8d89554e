// Processes that outlive the controller: starting them in a session of their own, telling them
// apart from later ones with the same pid, and ending all of a session.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace thalweg::daemon {

struct DetachedProcess {
  std::vector<std::string> arguments;      ///< the first is the program, with its path
  std::filesystem::path directory;         ///< working directory
  std::filesystem::path out, err;          ///< appended to
  std::vector<std::string> environment{};  ///< NAME=value; empty = this process's own
  int inherited = -1;                      ///< a descriptor that stays open in it; -1 = none
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
