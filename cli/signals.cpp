#include "cli/signals.h"

#include <pthread.h>

#include <ctime>

namespace thalweg::cli {
namespace {

constexpr timespec tick{0, 500'000'000};

}  // namespace

SignalThread::SignalThread(std::function<void(int)> on_signal, std::function<void()> on_tick)
    : on_signal_(std::move(on_signal)), on_tick_(std::move(on_tick)) {
  sigemptyset(&signals_);
  for (const int each : {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGCONT})
    sigaddset(&signals_, each);
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  thread_ = std::thread([this] { run(); });
}

SignalThread::~SignalThread() {
  stop_ = true;
  pthread_kill(thread_.native_handle(), SIGWINCH);  // wakes it
  thread_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void SignalThread::run() {
  while (!stop_) {
    const int signal = sigtimedwait(&signals_, nullptr, &tick);
    if (stop_) return;
    if (signal > 0)
      on_signal_(signal);
    else
      on_tick_();
  }
}

}  // namespace thalweg::cli
