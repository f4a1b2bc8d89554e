// A thread that answers a parameter server's mail while its rank computes.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>

#include "engine/comm/mailbox.h"
#include "engine/sync/parameter_server.h"
#include "engine/threads/threads.h"

namespace thalweg::engine {

/// Looks after a server's mail while its rank computes. The rank holds the mutex at all other
/// times.
class Attendant {
 public:
  Attendant(comm::Mailbox& mailbox, ParameterServer& server)
      : mailbox_(mailbox), server_(server), held_(mutex_), thread_([this] { attend(); }) {}
  ~Attendant() {
    quit_ = true;
    if (held_.owns_lock()) held_.unlock();
    thread_.join();
  }
  Attendant(const Attendant&) = delete;
  Attendant& operator=(const Attendant&) = delete;

  /// Messages are served until the caller has `compute` behind it.
  template <class F>
  void during(const F& compute) {
    serving_ = true;
    held_.unlock();
    try {
      compute();
    } catch (...) {
      held_.lock();
      serving_ = false;
      throw;
    }
    held_.lock();
    serving_ = false;
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void attend() {
    // Much shorter than a step, and long enough to cost the computation nothing.
    constexpr std::chrono::microseconds kPause{50};
    while (!quit_) {
      {
        const std::lock_guard lock(mutex_);
        if (serving_ && !failure_) {
          try {
            mailbox_.poll();
            server_.serve();
          } catch (...) {
            failure_ = std::current_exception();
          }
        }
      }
      threads::sleep_for(kPause);
    }
  }

  comm::Mailbox& mailbox_;
  ParameterServer& server_;
  std::atomic<bool> quit_ = false;
  threads::Mutex mutex_;  ///< of all below, the mailbox and the server
  bool serving_ = false;
  std::exception_ptr failure_;
  std::unique_lock<threads::Mutex> held_;
  threads::Thread thread_;
};

}  // namespace thalweg::engine
