// pidfds in one epoll set with UCX's events: a rank that sleeps wakes up for either.
#include "engine/comm/transport/process_watch.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <system_error>

#include "engine/comm/transport/leftovers.h"

namespace thalweg::engine::comm {
namespace {

constexpr std::uint64_t kEvents = UINT64_MAX;
constexpr std::uint64_t kWaker = UINT64_MAX - 1;

void listen(int epoll, int fd, std::uint64_t what) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = what;
  if (::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
    throw std::system_error(errno, std::generic_category(), "epoll_ctl");
  }
}

}  // namespace

ProcessWatch::ProcessWatch()
    : epoll_(::epoll_create1(EPOLL_CLOEXEC)), waker_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (epoll_ < 0 || waker_ < 0) throw std::system_error(errno, std::generic_category(), "epoll");
  listen(epoll_, waker_, kWaker);
}

ProcessWatch::~ProcessWatch() {
  for (const auto& watched : watched_) {
    ::close(watched.fd);
  }
  ::close(waker_);
  ::close(epoll_);
}

void ProcessWatch::add_events(int fd) {
  listen(epoll_, fd, kEvents);
}

bool ProcessWatch::add_process(int rank, pid_t pid) {
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return false;
  watched_.push_back({rank, pid, fd});
  listen(epoll_, fd, static_cast<std::uint64_t>(rank));
  return true;
}

std::vector<int> ProcessWatch::wait(std::chrono::milliseconds limit) {
  epoll_event events[16];
  const int n = ::epoll_wait(epoll_, events, 16, static_cast<int>(limit.count()));
  std::vector<int> ended;
  for (int i = 0; i < n; ++i) {
    const std::uint64_t what = events[i].data.u64;
    if (what == kEvents) continue;
    if (what == kWaker) {
      std::uint64_t count = 0;
      while (::read(waker_, &count, sizeof count) > 0) {
      }
      continue;
    }
    const int rank = static_cast<int>(what);
    ended.push_back(rank);
    std::erase_if(watched_, [rank](const Watched& watched) {
      if (watched.rank != rank) return false;
      ::close(watched.fd);  // which also takes it out of the epoll set
      remove_segments_of(watched.pid);
      return true;
    });
  }
  return ended;
}

void ProcessWatch::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(waker_, &one, sizeof one);
}

}  // namespace thalweg::engine::comm
