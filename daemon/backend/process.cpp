#include "daemon/backend/process.h"

#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

#include "daemon/api/program.h"

namespace thalweg::daemon {

namespace fs = std::filesystem;

namespace {

/// Fields of /proc/<pid>/stat after the name, which may itself hold spaces and brackets; [0] is the
/// state (field 3).
std::vector<std::string> stat_fields(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(in, text)) return {};
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream rest(text.substr(name_end + 1));
  std::vector<std::string> fields;
  for (std::string field; rest >> field;)
    fields.push_back(field);
  return fields;
}

constexpr std::size_t field_session = 6 - 3, field_start_time = 22 - 3;

bool is_dead(const std::vector<std::string>& fields) {
  return fields.size() <= field_start_time || fields[0] == "Z" || fields[0] == "X";
}

}  // namespace

std::string boot_id() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(in, id);
  return id;
}

std::optional<std::int64_t> process_start_time(pid_t pid) {
  const auto fields = stat_fields(pid);
  if (is_dead(fields)) return {};
  return std::atoll(fields[field_start_time].c_str());
}

pid_t start_detached(const DetachedProcess& process) {
  api::Spawn plan;
  const int append = O_WRONLY | O_CREAT | O_APPEND;
  posix_spawn_file_actions_addopen(&plan.files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&plan.files, 1, process.out.c_str(), append, 0600);
  posix_spawn_file_actions_addopen(&plan.files, 2, process.err.c_str(), append, 0600);
  posix_spawn_file_actions_addchdir_np(&plan.files, process.directory.c_str());
  plan.close_private_files();
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
    const auto fields = stat_fields(pid);
    if (!is_dead(fields) && fields[field_session] == std::to_string(leader)) members.push_back(pid);
  }
  return members;
}

bool carries(pid_t pid, const std::string& token, const fs::path& folder) {
  const fs::path process = "/proc/" + std::to_string(pid);
  std::error_code error;
  const fs::path works_in = fs::read_symlink(process / "cwd", error);
  if (!error && !folder.empty()) {
    const auto [rest, unused] =
        std::mismatch(folder.begin(), folder.end(), works_in.begin(), works_in.end());
    if (rest == folder.end()) return true;
  }
  std::ifstream in(process / "cmdline", std::ios::binary);
  const std::string words{std::istreambuf_iterator<char>(in), {}};
  return (!token.empty() && words.find(token) != std::string::npos) ||
         (!folder.empty() && words.find(folder.string() + "/") != std::string::npos);
}

}  // namespace thalweg::daemon
