#include "daemon/backend/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <system_error>

namespace thalweg::daemon {

namespace fs = std::filesystem;

namespace {

constexpr int first_private_file = 3;

[[noreturn]] void fail(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), what);
}

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

/// What posix_spawn needs, freed at the end.
struct SpawnPlan {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;

  SpawnPlan() {
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  /// The last file action: nothing of ours stays open in the child, whatever forgot its
  /// close-on-exec.
  void close_private_files() {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    posix_spawn_file_actions_addclosefrom_np(&files, first_private_file);
#endif
  }

  pid_t start(const std::vector<std::string>& arguments, short flags) {
    posix_spawnattr_setflags(
        &attributes, static_cast<short>(flags | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
    std::vector<char*> argv;
    for (const auto& a : arguments)
      argv.push_back(const_cast<char*>(a.c_str()));
    argv.push_back(nullptr);
    pid_t pid = -1;
    if (const int error = posix_spawn(&pid, argv[0], &files, &attributes, argv.data(), environ))
      fail(error, "cannot start " + arguments[0]);
    return pid;
  }
};

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
  SpawnPlan plan;
  const int append = O_WRONLY | O_CREAT | O_APPEND;
  posix_spawn_file_actions_addopen(&plan.files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&plan.files, 1, process.out.c_str(), append, 0600);
  posix_spawn_file_actions_addopen(&plan.files, 2, process.err.c_str(), append, 0600);
  posix_spawn_file_actions_addchdir_np(&plan.files, process.directory.c_str());
  plan.close_private_files();
  return plan.start(process.arguments, POSIX_SPAWN_SETSID);
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

ProgramOutput run_program(const std::vector<std::string>& arguments, double timeout_s) {
  int out[2], err[2];
  if (pipe2(out, O_CLOEXEC) != 0) fail(errno, "pipe");
  if (pipe2(err, O_CLOEXEC) != 0) {
    close(out[0]);
    close(out[1]);
    fail(errno, "pipe");
  }
  pid_t pid = -1;
  try {
    SpawnPlan plan;
    posix_spawn_file_actions_addopen(&plan.files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&plan.files, out[1], 1);
    posix_spawn_file_actions_adddup2(&plan.files, err[1], 2);
    plan.close_private_files();
    pid = plan.start(arguments, 0);
  } catch (...) {
    for (const int fd : {out[0], out[1], err[0], err[1]})
      close(fd);
    throw;
  }
  close(out[1]);
  close(err[1]);
  ProgramOutput result;
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::milliseconds>(
                                             std::chrono::duration<double>(timeout_s));
  pollfd ends[2] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
  std::string* texts[2] = {&result.out, &result.err};
  for (int open = 2; open > 0;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0 || poll(ends, 2, static_cast<int>(left.count())) == 0) {
      result.timed_out = true;
      kill(pid, SIGKILL);
      break;
    }
    for (int i = 0; i < 2; ++i) {
      if ((ends[i].revents & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
      char block[65536];
      const ssize_t count = read(ends[i].fd, block, sizeof block);
      if (count > 0) {
        texts[i]->append(block, static_cast<std::size_t>(count));
      } else if (count == 0 || errno != EINTR) {
        ends[i].fd = -1;  // poll() passes over it
        --open;
      }
    }
  }
  close(out[0]);
  close(err[0]);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) result.code = WEXITSTATUS(status);
  return result;
}

fs::path find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : "";
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  std::vector<fs::path> folders;
  if (!error) folders.push_back(self.parent_path());
  if (const char* path = std::getenv("PATH")) {
    std::istringstream parts(path);
    for (std::string part; std::getline(parts, part, ':');)
      if (!part.empty()) folders.emplace_back(part);
  }
  for (const auto& folder : folders)
    if (access((folder / name).c_str(), X_OK) == 0 && fs::is_regular_file(folder / name, error))
      return folder / name;
  return {};
}

}  // namespace thalweg::daemon
