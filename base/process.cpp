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

using Clock = std::chrono::steady_clock;

/// What a program writes, until it closes both; false where that is not before the deadline.
bool read_to_end(const Pipe& out, const Pipe& err, Clock::time_point deadline,
                 ProgramOutput& result) {
  pollfd ends[2] = {{out.read.get(), POLLIN, 0}, {err.read.get(), POLLIN, 0}};
  std::string* texts[2] = {&result.out, &result.err};
  for (int open = 2; open > 0;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    const int ready = left.count() <= 0 ? 0 : poll(ends, 2, static_cast<int>(left.count()));
    if (ready == 0) return false;
    if (ready < 0) continue;  // interrupted
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
  return true;
}

/// Of our own binary; empty where it cannot be told.
fs::path own_folder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

}  // namespace

Pipe::Pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail(errno, "pipe");
  read = Descriptor(ends[0]);
  write = Descriptor(ends[1]);
}

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

void Spawn::close_private_files(int inherited) {
  // Where it has the number already, that takes its close-on-exec off.
  if (inherited >= 0) posix_spawn_file_actions_adddup2(&files, inherited, first_private_file);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
  posix_spawn_file_actions_addclosefrom_np(&files, first_private_file + (inherited >= 0 ? 1 : 0));
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
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(timeout_s));
  Pipe out, err;
  Spawn plan;
  if (input < 0)
    posix_spawn_file_actions_addopen(&plan.files, 0, "/dev/null", O_RDONLY, 0);
  else
    posix_spawn_file_actions_adddup2(&plan.files, input, 0);
  posix_spawn_file_actions_adddup2(&plan.files, out.write.get(), 1);
  posix_spawn_file_actions_adddup2(&plan.files, err.write.get(), 2);
  plan.close_private_files();
  const pid_t pid = plan.start(arguments, 0, environment);
  out.write = Descriptor();
  err.write = Descriptor();
  ProgramOutput result;
  result.timed_out = !read_to_end(out, err, deadline, result);
  if (result.timed_out) kill(pid, SIGKILL);
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
