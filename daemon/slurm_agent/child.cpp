// From fork to waitpid. Whatever allocates or asks the user database is done before the fork, since
// the child of a process with threads may do neither.
#include "daemon/slurm_agent/child.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>

#include "base/file.h"

namespace thalweg::slurm_agent {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t max_groups = 65536;  // Linux's own limit
constexpr int no_privilege = 126;  // the child's exit status where it could not become the user
constexpr int program_fd = 3;

bool drop_capabilities() noexcept {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> none{};
  if (::syscall(SYS_capset, &header, none.data()) != 0) return false;
  std::array<__user_cap_data_struct, 2> left{};
  if (::syscall(SYS_capget, &header, left.data()) != 0) return false;
  return std::all_of(left.begin(), left.end(), [](const __user_cap_data_struct& set) {
    return set.effective == 0 && set.permitted == 0 && set.inheritable == 0;
  });
}

bool ids_are(const Person& person) noexcept {
  uid_t r = 0, e = 0, s = 0;
  gid_t rg = 0, eg = 0, sg = 0;
  return ::getresuid(&r, &e, &s) == 0 && ::getresgid(&rg, &eg, &sg) == 0 && r == person.uid &&
         e == person.uid && s == person.uid && rg == person.gid && eg == person.gid &&
         sg == person.gid;
}

bool groups_are(const std::vector<gid_t>& wanted) noexcept {
  static gid_t now[max_groups];  // the child has one thread; too big for a stack
  const int count = ::getgroups(max_groups, now);
  if (count < 0) return false;
  const auto in = [](gid_t one, const gid_t* begin, const gid_t* end) {
    return std::find(begin, end, one) != end;
  };
  const gid_t* last = wanted.data() + wanted.size();
  return std::all_of(now, now + count, [&](gid_t g) { return in(g, wanted.data(), last); }) &&
         std::all_of(wanted.begin(), wanted.end(),
                     [&](gid_t g) { return in(g, now, now + count); });
}

void close_from(unsigned first) noexcept {
  if (::syscall(SYS_close_range, first, ~0u, 0) == 0) return;
  rlimit limit{};  // Linux before 5.9
  ::getrlimit(RLIMIT_NOFILE, &limit);
  for (unsigned fd = first; fd < limit.rlim_cur; ++fd)
    ::close(static_cast<int>(fd));
}

void reset_signals() noexcept {
  for (int signal = 1; signal < NSIG; ++signal)
    ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void say(int fd, const char* text) noexcept {
  [[maybe_unused]] const ssize_t n = ::write(fd, text, std::strlen(text));
}

[[noreturn]] void be_child(const Person& person, const std::vector<gid_t>& groups,
                           const ChildCall& call, int io, int err) noexcept {
  ::setsid();
  if (::dup2(io, 0) < 0 || ::dup2(io, 1) < 0 || ::dup2(err, 2) < 0) ::_exit(no_privilege);
  if (call.keep >= 0 && call.keep != program_fd && ::dup3(call.keep, program_fd, O_CLOEXEC) < 0)
    ::_exit(no_privilege);
  close_from(call.keep >= 0 ? program_fd + 1 : program_fd);
  reset_signals();
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::umask(0077);
  if (const char* problem = become(person, groups)) {
    say(2, problem);
    ::_exit(no_privilege);
  }
  if (::chdir("/") == 0) call.work();
  ::_exit(0);
}

/// True where the child is gone within that time.
bool gone(pid_t child, int& status, milliseconds patience) {
  for (const auto until = Clock::now() + patience;;) {
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended != 0 && !(ended < 0 && errno == EINTR)) return true;
    if (Clock::now() >= until) return false;
    std::this_thread::sleep_for(milliseconds(1));
  }
}

/// Sends SIGKILL. A process with CAP_SETUID alone may not signal another user's: a child does it
/// whose effective uid alone is that user's, so that he cannot stop it.
void kill_as(const Person& person, pid_t target) {
  if (::kill(target, SIGKILL) == 0 || errno != EPERM) return;
  const pid_t killer = ::fork();
  if (killer == 0) {
    constexpr uid_t same = static_cast<uid_t>(-1);
    if (::syscall(SYS_setresuid, same, person.uid, same) == 0) ::kill(target, SIGKILL);
    ::_exit(0);
  }
  while (killer > 0 && ::waitpid(killer, nullptr, 0) < 0 && errno == EINTR) {
  }
}

/// Its output ended, or its time: it has nothing more to do. One that hangs in the kernel (a dead
/// file server) is waited for elsewhere.
void end_child(const Person& person, pid_t child, int& status) {
  if (gone(child, status, milliseconds(100))) return;
  kill_as(person, child);
  if (gone(child, status, milliseconds(2000))) return;
  std::thread([child] { ::waitpid(child, nullptr, 0); }).detach();
}

/// Both directions at once: the child may answer before it has read everything.
class Talk {
 public:
  Talk(pid_t child, int io, int errors, const ChildCall& call)
      : child_(child), io_(io), err_(errors), call_(call) {
    for (const int fd : {io, errors})
      ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  }
  /// True at the child's end of file; false at the time limit, where it says too much, and where
  /// its user stopped it: he may, and it is nobody's to wait for then.
  bool run() {
    if (call_.input.empty()) ::shutdown(io_, SHUT_WR);
    const auto until = Clock::now() + call_.limit;
    while (open_) {
      const auto left = std::chrono::duration_cast<milliseconds>(until - Clock::now()).count();
      if (left <= 0 || out.size() > call_.max_output || is_stopped()) return false;
      const bool more = sent_ < call_.input.size();
      std::array<pollfd, 2> wait{{{io_, static_cast<short>(POLLIN | (more ? POLLOUT : 0)), 0},
                                  {err_open_ ? err_ : -1, POLLIN, 0}}};
      const auto tick = std::min<std::int64_t>(left, look_again_ms);
      if (::poll(wait.data(), wait.size(), static_cast<int>(tick)) <= 0) continue;
      if ((wait[0].revents & POLLOUT) != 0) send();
      if ((wait[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0) open_ = take(io_, out);
      if (wait[1].revents != 0) err_open_ = take(err_, err);
    }
    while (take(err_, err) && err_open_ && !would_block_) {
    }
    return true;
  }

  std::string out, err;

 private:
  bool is_stopped() const {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(child_), &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == child_;
  }
  void send() {
    const ssize_t n = ::send(io_, call_.input.data() + sent_, call_.input.size() - sent_,
                             MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) sent_ += static_cast<std::size_t>(n);
    const bool broken = n < 0 && errno != EAGAIN && errno != EINTR;
    if (broken) sent_ = call_.input.size();
    if (sent_ == call_.input.size()) ::shutdown(io_, SHUT_WR);
  }
  bool take(int fd, std::string& text) {
    char block[65536];
    const ssize_t n = ::read(fd, block, sizeof block);
    would_block_ = n < 0 && (errno == EAGAIN || errno == EINTR);
    if (n > 0 && (fd == io_ || text.size() < max_words))
      text.append(block, static_cast<std::size_t>(n));
    return n > 0 || would_block_;
  }

  static constexpr std::size_t max_words = 65536;
  static constexpr std::int64_t look_again_ms = 100;
  pid_t child_;
  int io_, err_;
  const ChildCall& call_;
  std::size_t sent_ = 0;
  bool open_ = true, err_open_ = true, would_block_ = false;
};

}  // namespace

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

// The raw calls: glibc's own would signal threads that this process does not have.
const char* become(const Person& person, const std::vector<gid_t>& groups) noexcept {
  if (person.uid == 0) return "refuses to run as root";
  if (::prctl(PR_SET_DUMPABLE, 0) != 0 || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return "prctl failed";
  if (::prctl(PR_SET_KEEPCAPS, 0) != 0) return "prctl(PR_SET_KEEPCAPS) failed";
  if (::syscall(SYS_setgroups, groups.size(), groups.data()) != 0)
    return "setgroups failed: CAP_SETGID is needed";
  if (::syscall(SYS_setresgid, person.gid, person.gid, person.gid) != 0)
    return "setresgid failed: CAP_SETGID is needed";
  if (::syscall(SYS_setresuid, person.uid, person.uid, person.uid) != 0)
    return "setresuid failed: CAP_SETUID is needed";
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  if (!drop_capabilities()) return "capabilities remain";
  if (!ids_are(person) || !groups_are(groups)) return "is not the user that it should be";
  if (::syscall(SYS_setresuid, 0, 0, 0) == 0) return "could become root again";
  ::prctl(PR_SET_DUMPABLE, 0);
  return nullptr;
}

ChildEnd run_as(const Person& person, const ChildCall& call) {
  ChildEnd end;
  std::vector<gid_t> groups = person.groups;
  groups.insert(groups.end(), call.more_groups.begin(), call.more_groups.end());
  int io[2], err[2];
  if (groups.size() > max_groups || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, io) != 0)
    return end;
  const Descriptor io_ours(io[0]);
  Descriptor io_theirs(io[1]);
  if (::pipe2(err, O_CLOEXEC) != 0) return end;
  const Descriptor err_ours(err[0]);
  Descriptor err_theirs(err[1]);
  const pid_t child = ::fork();
  if (child == 0) be_child(person, groups, call, io[1], err[1]);
  if (child < 0) return end;
  end.started = true;
  io_theirs = Descriptor();
  err_theirs = Descriptor();
  Talk talk(child, io_ours.get(), err_ours.get(), call);
  end.late = !talk.run();
  end.out = std::move(talk.out);
  end.err = last_line(std::move(talk.err));
  end_child(person, child, end.status);
  return end;
}

OwnProgram::OwnProgram(const std::vector<std::string>& arguments)
    : program_(::open("/proc/self/exe", O_PATH | O_CLOEXEC)), words_(arguments) {
  settings_ = {"PATH=/usr/bin:/bin", "LC_ALL=C"};
  for (const char* name : {"SLURM_CONF", "TZ"})
    if (const char* value = std::getenv(name))
      settings_.push_back(name + ("=" + std::string(value)));
  for (std::string& word : words_)
    argv_.push_back(word.data());
  for (std::string& setting : settings_)
    environment_.push_back(setting.data());
  argv_.push_back(nullptr);
  environment_.push_back(nullptr);
}

OwnProgram::~OwnProgram() {
  if (program_ >= 0) ::close(program_);
}

void OwnProgram::exec() const noexcept {
  ::syscall(SYS_execveat, program_fd, "", argv_.data(), environment_.data(), AT_EMPTY_PATH);
  say(2, "cannot run its own program");
}

}  // namespace thalweg::slurm_agent
