#include "daemon/slurm_agent/library.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "daemon/slurm_agent/child.h"
#include "daemon/slurm_agent/compat.h"

namespace thalweg::slurm_agent {
namespace {

using std::chrono::steady_clock;

// libslurm looks for its configuration in this order, and then in the DNS.
constexpr const char* configuration_places[] = {
    "/etc/slurm/slurm.conf", "/etc/slurm-llnl/slurm.conf", "/run/slurm/conf/slurm.conf"};
constexpr auto look_every = std::chrono::seconds(2);
// A configuration fetched over the network may take this long; libslurm itself would retry for
// minutes.
constexpr auto trial_limit = std::chrono::seconds(20);

std::string read_all(int fd, steady_clock::time_point until) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - steady_clock::now()).count();
    pollfd entry{fd, POLLIN, 0};
    if (left <= 0 || ::poll(&entry, 1, static_cast<int>(left)) == 0) return text;
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(n));
  }
}

// The last thing that libslurm said, without its "agent: fatal: ".
std::string last_said(std::string text) {
  text = last_line(std::move(text));
  const std::size_t fatal = text.find("fatal: ");
  return fatal == std::string::npos ? text : text.substr(fatal + std::strlen("fatal: "));
}

// libslurm ends the process where it finds no configuration; so a child goes first. Returns why it
// would not work.
std::string try_in_child() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::string("pipe: ") + std::strerror(errno);
  const pid_t child = ::fork();
  if (child < 0) return std::string("fork: ") + std::strerror(errno);
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    slurm_init(nullptr);
    ::_exit(0);
  }
  ::close(ends[1]);
  const auto until = steady_clock::now() + trial_limit;
  const std::string said = read_all(ends[0], until);
  ::close(ends[0]);
  const bool late = steady_clock::now() >= until;
  if (late) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (late) return "libslurm did not start within 20 s";
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return said.empty() ? "libslurm does not start" : last_said(said);
}

}  // namespace

Library::FileStamp Library::find_configuration() {
  auto stamp_of = [](const char* path) -> FileStamp {
    struct stat info {};
    if (::stat(path, &info) != 0) return {};
    return {path, info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec, info.st_ino};
  };
  if (const char* named = std::getenv("SLURM_CONF"); named && *named) return stamp_of(named);
  for (const char* place : configuration_places) {
    if (FileStamp stamp = stamp_of(place); !stamp.path.empty()) return stamp;
  }
  return {};
}

void Library::start() {
  const FileStamp found = find_configuration();
  const char* named = std::getenv("SLURM_CONF");
  const std::string problem =
      named && *named && found.path.empty()
          ? std::string("SLURM_CONF names ") + named + ", which is not there"
          : try_in_child();
  if (!problem.empty() && !started_) throw NoSlurm("no Slurm here: " + problem);
  if (!problem.empty()) {  // half an edit, perhaps: what is running still works
    std::fprintf(stderr, "slurm agent: keeps its old configuration, the new one is bad: %s\n",
                 problem.c_str());
    stamp_ = found;
    stale_ = false;
    return;
  }
  if (started_) slurm_fini();
  started_ = false;
  slurm_init(nullptr);
  started_ = true;
  stamp_ = found;
  stale_ = false;
  ++generation_;
}

Library::Use Library::use() {
  {
    std::lock_guard lock(looked_mutex_);
    if (const auto now = steady_clock::now(); now - looked_ >= look_every) {
      looked_ = now;
      std::shared_lock reading(mutex_);
      const FileStamp found = find_configuration();
      if (started_ && !found.path.empty() && found != stamp_) stale_ = true;
    }
  }
  if (stale_) {
    std::unique_lock alone(mutex_);  // waits for the calls under way
    if (stale_) start();
  }
  return Use(mutex_);
}

Library::~Library() {
  if (started_) slurm_fini();
}

}  // namespace thalweg::slurm_agent
