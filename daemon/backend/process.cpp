#include "daemon/backend/process.h"

#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "base/machine.h"
#include "base/process.h"

namespace thalweg::daemon {

namespace fs = std::filesystem;

pid_t start_detached(const DetachedProcess& process) {
  Spawn plan;
  const int append = O_WRONLY | O_CREAT | O_APPEND;
  posix_spawn_file_actions_addopen(&plan.files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&plan.files, 1, process.out.c_str(), append, 0600);
  posix_spawn_file_actions_addopen(&plan.files, 2, process.err.c_str(), append, 0600);
  posix_spawn_file_actions_addchdir_np(&plan.files, process.directory.c_str());
  plan.close_private_files(process.inherited);
  return plan.start(process.arguments, POSIX_SPAWN_SETSID, process.environment);
}

std::vector<pid_t> session_members(pid_t leader) {
  std::vector<pid_t> members;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    const auto [end, bad] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (bad != std::errc{} || end != name.data() + name.size()) continue;
    const auto stat = process_stat(pid);
    if (stat && stat->session == leader) members.push_back(pid);
  }
  return members;
}

bool carries(pid_t pid, const std::string& token, const fs::path& folder) {
  std::error_code error;
  const fs::path works_in = fs::read_symlink("/proc/" + std::to_string(pid) + "/cwd", error);
  if (!error && !folder.empty()) {
    const auto [rest, unused] =
        std::mismatch(folder.begin(), folder.end(), works_in.begin(), works_in.end());
    if (rest == folder.end()) return true;
  }
  const std::string words = process_file(pid, "cmdline");
  return (!token.empty() && words.find(token) != std::string::npos) ||
         (!folder.empty() && words.find(folder.string() + "/") != std::string::npos);
}

}  // namespace thalweg::daemon
