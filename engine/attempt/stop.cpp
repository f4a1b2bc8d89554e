#include "engine/attempt/stop.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>

namespace thalweg::engine {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr int kSignals[] = {SIGTERM, SIGINT, SIGUSR1};

StopFlag flag;
std::atomic<std::int64_t> first_ns{0};
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

/// Only what signal handlers may do: lock-free atomics, clock_gettime, _exit.
extern "C" void handle(int signal) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t ns = std::int64_t{now.tv_sec} * kSecond + now.tv_nsec;
  std::int64_t expected = 0;
  if (!first_ns.compare_exchange_strong(expected, ns) && ns - expected >= kSecond)
    _exit(128 + signal);
  flag.request();
}

}  // namespace

const StopFlag& stop_on_signals() {
  struct sigaction action {};
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int signal : kSignals)
    sigaction(signal, &action, nullptr);
  // A controller that goes away, or a file size limit: errors of that write, not the end of the
  // run.
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  for (const int signal : {SIGPIPE, SIGXFSZ})
    sigaction(signal, &ignore, nullptr);
  return flag;
}

}  // namespace thalweg::engine
