// Signals as something to wait for, instead of handlers that interrupt.
#pragma once

#include <csignal>
#include <initializer_list>

#include "base/file.h"

namespace thalweg {

class SignalQueue {
 public:
  /// Blocks these signals in the calling thread, and in those that it starts from then on. Throws
  /// std::system_error.
  explicit SignalQueue(std::initializer_list<int> signals);
  /// The mask that held before, for processes that are started.
  const sigset_t& before() const { return before_; }
  /// The next signal; 0 where none has come in so many milliseconds, or the wait was cut short.
  /// Negative: no limit. One thread at a time.
  int next(int wait_ms) const;

 private:
  sigset_t before_{};
  Descriptor fd_;
};

}  // namespace thalweg
