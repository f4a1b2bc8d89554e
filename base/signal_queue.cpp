#include "base/signal_queue.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace thalweg {

SignalQueue::SignalQueue(std::initializer_list<int> signals) {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int signal : signals)
    sigaddset(&wanted, signal);
  pthread_sigmask(SIG_BLOCK, &wanted, &before_);
  fd_ = Descriptor(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_) throw std::system_error(errno, std::generic_category(), "signalfd");
}

int SignalQueue::next(int wait_ms) const {
  pollfd ready{fd_.get(), POLLIN, 0};
  ::poll(&ready, 1, wait_ms);
  signalfd_siginfo info{};
  const bool got = ::read(fd_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info);
  return got ? static_cast<int>(info.ssi_signo) : 0;
}

}  // namespace thalweg
