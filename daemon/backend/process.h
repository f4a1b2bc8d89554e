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

/// What the local backend asks of this machine's processes; a simulation asks its own instead.
class Processes {
 public:
  virtual ~Processes() = default;
  /// As start_detached().
  virtual pid_t start(const DetachedProcess& process);
  /// Whether that child has ended, and how (wait status); never waits.
  virtual bool reap(pid_t child, int& status);
  /// A child that is about to end does not stay a zombie.
  virtual void reap_later(pid_t child);
  virtual void send(pid_t pid, int signal);
  /// As thalweg::process_start_time() and thalweg::boot_id().
  virtual std::optional<std::int64_t> start_time(pid_t pid);
  virtual std::string boot();
  /// As session_members() and carries().
  virtual std::vector<pid_t> members(pid_t leader);
  virtual bool carry(pid_t pid, const std::string& token, const std::filesystem::path& folder);
  /// Whether their ends can be watched by EndWatch.
  virtual bool real() const { return true; }
};

}  // namespace thalweg::daemon
