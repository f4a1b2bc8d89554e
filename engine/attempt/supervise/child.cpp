#include "engine/attempt/supervise/child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <system_error>
#include <thread>

#include "base/process.h"

namespace thalweg::engine {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts)
    result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

/// Where a step of starting failed, and why.
struct Trouble {
  int error = 0;
  bool folder = false;
};

/// Between fork and exec: only what signal handlers may do, since other threads may hold locks.
[[noreturn]] void become(char* const* argv, char* const* envp, const char* directory, int out,
                         int err, pid_t parent, int report) {
  Trouble trouble;
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  for (int number = 1; number < NSIG; ++number)
    ::signal(number, number == SIGUSR1 ? SIG_IGN : SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int input = ::open("/dev/null", O_RDONLY);
  if (input > 0) {
    ::dup2(input, 0);
    ::close(input);
  }
  ::dup2(out, 1);
  ::dup2(err, 2);
  trouble.folder = *directory != '\0' && ::chdir(directory) != 0;
  if (!trouble.folder) ::execvpe(argv[0], argv, envp);
  trouble.error = errno;
  [[maybe_unused]] const auto written = ::write(report, &trouble, sizeof trouble);
  ::_exit(127);
}

std::vector<pid_t> own_children() {
  std::vector<pid_t> pids;
  const std::string self = std::to_string(::getpid());
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + self + "/task")) {
    std::ifstream file(task.path() / "children");
    for (pid_t pid = 0; file >> pid;)
      pids.push_back(pid);
  }
  return pids;
}

}  // namespace

Child::Child(const ChildPlan& plan) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // its orphans come to us, so that none outlives it unseen
  std::vector<std::string> entries;
  for (const auto& [name, value] : plan.environment)
    entries.push_back(name + "=" + value);
  const auto argv = pointers(plan.words), envp = pointers(entries);
  Pipe out, err, report;
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (pid_ == 0)
    become(argv.data(), envp.data(), plan.directory.c_str(), out.write.get(), err.write.get(),
           parent, report.write.get());
  ::setpgid(pid_, pid_);
  report.write = Descriptor();
  Trouble trouble;
  ssize_t count = 0;
  do {
    count = ::read(report.read.get(), &trouble, sizeof trouble);
  } while (count < 0 && errno == EINTR);
  if (count == static_cast<ssize_t>(sizeof trouble)) {
    ::waitpid(pid_, nullptr, 0);
    const std::string what = trouble.folder ? "cannot work in " + plan.directory.string()
                                            : "cannot run " + plan.words[0];
    pid_ = -1;
    throw std::system_error(trouble.error, std::generic_category(), what);
  }
  out_ = std::move(out.read);
  err_ = std::move(err.read);
  for (const int descriptor : {out_.get(), err_.get()})
    ::fcntl(descriptor, F_SETFL, O_NONBLOCK);
  ended_ = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
}

Child::~Child() {
  if (pid_ > 0) sweep();
}

std::optional<int> Child::status() {
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;)
    if (pid == pid_) status_ = status;
  return status_;
}

void Child::signal(int number) const {
  // Its number may be another's once it has been waited for; its group is it as long as one lives.
  if (pid_ > 0) ::kill(-pid_, number);
}

void Child::sweep() const {
  signal(SIGKILL);
  for (;;) {
    for (const pid_t pid : own_children())
      ::kill(pid, SIGKILL);
    const pid_t pid = ::waitpid(-1, nullptr, WNOHANG);
    if (pid < 0 && errno == ECHILD) return;
    if (pid == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    return "was killed by signal " + std::to_string(number) + " (" + strsignal(number) + ")" +
           (number == SIGKILL ? ", perhaps because memory ran out" : "");
  }
  return "exited with code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace thalweg::engine
