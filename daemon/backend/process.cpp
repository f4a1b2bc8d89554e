#include "daemon/backend/process.h"

#include <fcntl.h>
#include <sys/wait.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <system_error>
#include <thread>

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

pid_t Processes::start(const DetachedProcess& process) {
  return start_detached(process);
}

bool Processes::reap(pid_t child, int& status) {
  return ::waitpid(child, &status, WNOHANG) == child;
}

void Processes::reap_later(pid_t child) {
  std::thread([child] { ::waitpid(child, nullptr, 0); }).detach();
}

void Processes::send(pid_t pid, int signal) {
  ::kill(pid, signal);
}

std::optional<std::int64_t> Processes::start_time(pid_t pid) {
  return process_start_time(pid);
}

std::string Processes::boot() {
  return boot_id();
}

std::vector<pid_t> Processes::members(pid_t leader) {
  return session_members(leader);
}

bool Processes::carry(pid_t pid, const std::string& token, const fs::path& folder) {
  return carries(pid, token, folder);
}

}  // namespace thalweg::daemon
