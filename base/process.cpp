#include "base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <sstream>
#include <system_error>

namespace thalweg {

namespace fs = std::filesystem;

namespace {

constexpr int first_private_file = 3;

[[noreturn]] void fail(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), what);
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const auto& text : texts)
    result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

/// Of our own binary; empty where it cannot be told.
fs::path own_folder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

}  // namespace

Spawn::Spawn() {
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
}

Spawn::~Spawn() {
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
}

void Spawn::close_private_files() {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
  posix_spawn_file_actions_addclosefrom_np(&files, first_private_file);
#endif
}

pid_t Spawn::start(const std::vector<std::string>& arguments, short flags,
                   const std::vector<std::string>& environment) {
  posix_spawnattr_setflags(
      &attributes, static_cast<short>(flags | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  std::vector<char*> argv = pointers(arguments), env = pointers(environment);
  pid_t pid = -1;
  if (const int error = posix_spawnp(&pid, argv[0], &files, &attributes, argv.data(),
                                     environment.empty() ? environ : env.data()))
    fail(error, "cannot start " + arguments[0]);
  return pid;
}

ProgramOutput run_program(const std::vector<std::string>& arguments, double timeout_s,
                          const std::vector<std::string>& environment, int input) {
  int out[2], err[2];
  if (pipe2(out, O_CLOEXEC) != 0) fail(errno, "pipe");
  if (pipe2(err, O_CLOEXEC) != 0) {
    close(out[0]);
    close(out[1]);
    fail(errno, "pipe");
  }
  pid_t pid = -1;
  try {
    Spawn plan;
    if (input < 0)
      posix_spawn_file_actions_addopen(&plan.files, 0, "/dev/null", O_RDONLY, 0);
    else
      posix_spawn_file_actions_adddup2(&plan.files, input, 0);
    posix_spawn_file_actions_adddup2(&plan.files, out[1], 1);
    posix_spawn_file_actions_adddup2(&plan.files, err[1], 2);
    plan.close_private_files();
    pid = plan.start(arguments, 0, environment);
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
  std::vector<fs::path> folders;
  if (const fs::path own = own_folder(); !own.empty()) folders.push_back(own);
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

fs::path find_in_prefix(const fs::path& path) {
  std::error_code error;
  const fs::path own = own_folder();
  const fs::path file = own.parent_path() / path;
  return !own.empty() && fs::exists(file, error) ? file : fs::path();
}

}  // namespace thalweg
