#include "engine/launch/ranks.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>

#include "engine/comm/transport/leftovers.h"

namespace thalweg::engine::launch {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const auto& text : texts) {
    result.push_back(const_cast<char*>(text.c_str()));
  }
  result.push_back(nullptr);
  return result;
}

constexpr std::chrono::seconds kDyingFor{1};  ///< at most, for all of its threads to end

/// Whether its end has begun: PF_EXITING of <linux/sched.h>, in the field `flags` of proc(5).
bool is_dying(pid_t pid) {
  constexpr unsigned long kExiting = 4;
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(in, text);
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return false;
  std::istringstream fields(text.substr(name_end + 1));
  std::string state;
  long parent = 0, group = 0, session = 0, terminal = 0, foreground = 0;
  unsigned long flags = 0;
  fields >> state >> parent >> group >> session >> terminal >> foreground >> flags;
  return (flags & kExiting) != 0;
}

/// In the child: only calls that are safe after fork in a process with threads.
[[noreturn]] void become(const RankPlan& plan, char* const* argv, char* const* envp, pid_t launcher,
                         const sigset_t& mask, const rlimit& files, int report) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != launcher) ::_exit(127);  // it died before the line above
  if (!plan.cores.empty()) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int core : plan.cores) {
      CPU_SET(static_cast<std::size_t>(core), &set);
    }
    ::sched_setaffinity(0, sizeof set, &set);
  }
  if (!plan.keep_input) {
    const int null = ::open("/dev/null", O_RDONLY);
    if (null >= 0) ::dup2(null, 0);
    if (null > 0) ::close(null);
  }
  ::setrlimit(RLIMIT_NOFILE, &files);
  ::signal(SIGPIPE, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::execvpe(argv[0], argv, envp);
  const int error = errno;
  if (::write(report, &error, sizeof error) < 0) ::_exit(126);
  ::_exit(127);
}

std::vector<pid_t> children() {
  std::vector<pid_t> pids;
  const std::string self = std::to_string(::getpid());
  std::ifstream file("/proc/" + self + "/task/" + self + "/children");
  for (pid_t pid = 0; file >> pid;) {
    pids.push_back(pid);
  }
  return pids;
}

}  // namespace

Ranks::Ranks() : order_(::epoll_create1(EPOLL_CLOEXEC)) {
  // Orphans of ranks become our children, so that none can outlive the launch unseen.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  // Two of ours for each rank, so 512 ranks are more than the usual 1024; ranks get it as it was.
  ::getrlimit(RLIMIT_NOFILE, &files_);
  const rlimit most{files_.rlim_max, files_.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &most);
}

int Ranks::start(const RankPlan& plan, const sigset_t& signal_mask) {
  const auto argv = pointers(plan.command);
  const auto envp = pointers(plan.environment);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno;
  const Descriptor answer(ends[0]);
  Descriptor report(ends[1]);
  const pid_t launcher = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) become(plan, argv.data(), envp.data(), launcher, signal_mask, files_, report.get());
  const int fork_error = errno;
  report = Descriptor();
  if (pid < 0) return fork_error;
  ::setpgid(pid, pid);
  int error = 0;
  ssize_t n = 0;
  do {
    n = ::read(answer.get(), &error, sizeof error);
  } while (n < 0 && errno == EINTR);
  if (n == static_cast<ssize_t>(sizeof error)) {
    ::waitpid(pid, nullptr, 0);
    return error;
  }
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (pidfd >= 0) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLONESHOT;
    event.data.u64 = static_cast<std::uint64_t>(pid) << 32U | static_cast<std::uint32_t>(pidfd);
    ::epoll_ctl(order_.get(), EPOLL_CTL_ADD, pidfd, &event);
  }
  ranks_.push_back({pid, true});
  ++running_;
  return 0;
}

void Ranks::signal_all(int signal) {
  for (const auto& rank : ranks_) {
    if (rank.running) ::kill(-rank.pid, signal);
  }
}

void Ranks::take(pid_t pid, int status, std::vector<RankEnd>& ends) {
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    if (ranks_[r].pid != pid || !ranks_[r].running) continue;
    ranks_[r].running = false;
    --running_;
    ends.push_back({static_cast<int>(r), pid, status});
  }
}

std::vector<RankEnd> Ranks::reap() {
  std::vector<RankEnd> ends;
  int status = 0;
  epoll_event event{};
  while (::epoll_wait(order_.get(), &event, 1, 0) == 1) {
    const auto pid = static_cast<pid_t>(event.data.u64 >> 32U);
    if (::waitpid(pid, &status, WNOHANG) == pid) take(pid, status, ends);
    ::close(static_cast<int>(event.data.u64 & UINT32_MAX));
  }
  // Orphans that came to us, and ranks where the kernel has no pidfd.
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    take(pid, status, ends);
  }
  if (!ends.empty()) add_dying(ends);
  return ends;
}

/// A killed process closes its sockets before it can be waited for: on a busy machine its peers
/// have seen that and ended first. A rank that is killed is so for no peer's sake.
void Ranks::add_dying(std::vector<RankEnd>& ends) {
  const auto end = std::chrono::steady_clock::now() + kDyingFor;
  for (const Rank rank : ranks_) {
    if (!rank.running || !is_dying(rank.pid)) continue;
    int status = 0;
    pid_t ended = 0;
    while ((ended = ::waitpid(rank.pid, &status, WNOHANG)) == 0 &&
           std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (ended == rank.pid) take(rank.pid, status, ends);
  }
  std::stable_partition(ends.begin(), ends.end(), [](const RankEnd& rank) {
    return WIFSIGNALED(rank.status) && WTERMSIG(rank.status) == SIGKILL;
  });
}

void Ranks::sweep() {
  for (const auto& rank : ranks_) {
    ::kill(-rank.pid, SIGKILL);
  }
  // Killing a process hands us its children, so look again until there are none.
  for (;;) {
    for (const pid_t pid : children()) {
      ::kill(pid, SIGKILL);
    }
    const pid_t pid = ::waitpid(-1, nullptr, WNOHANG);
    if (pid < 0 && errno == ECHILD) break;
    if (pid == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (const auto& rank : ranks_) {
    const bool reused = ::kill(rank.pid, 0) == 0;
    if (!reused) comm::remove_segments_of(rank.pid);
  }
  comm::remove_abandoned_memory();
  comm::remove_abandoned_segments();
}

std::vector<int> allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<std::size_t>(core), &set)) cores.push_back(core);
  }
  return cores;
}

std::vector<int> share_of(const std::vector<int>& cores, int rank, int ranks) {
  const auto n = static_cast<std::ptrdiff_t>(cores.size());
  if (n < ranks) return {};
  return {cores.begin() + n * rank / ranks, cores.begin() + n * (rank + 1) / ranks};
}

}  // namespace thalweg::engine::launch
