// Signals while a sweep is watched, taken by a thread of its own: the main thread may be blocked in
// a read.
#pragma once

#include <csignal>

#include <atomic>
#include <functional>
#include <thread>

namespace thalweg::cli {

/// While it lives, SIGINT, SIGTERM, SIGHUP, SIGWINCH and SIGCONT are blocked in the calling thread
/// and handed to `on_signal` on another thread; `on_tick` is called there about twice a second.
/// Start no process meanwhile: it would inherit the blocked signals.
class SignalThread {
 public:
  SignalThread(std::function<void(int signal)> on_signal, std::function<void()> on_tick);
  ~SignalThread();
  SignalThread(const SignalThread&) = delete;
  SignalThread& operator=(const SignalThread&) = delete;

 private:
  void run();

  std::function<void(int)> on_signal_;
  std::function<void()> on_tick_;
  sigset_t signals_{}, before_{};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace thalweg::cli
