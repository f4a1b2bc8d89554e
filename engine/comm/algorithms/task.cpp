#include "engine/comm/algorithms/task.h"

namespace thalweg::engine::comm {

Task::Handle Task::await_suspend(Handle caller) noexcept {
  handle_.promise().strand = caller.promise().strand;
  handle_.promise().caller = caller;
  return handle_;
}

std::coroutine_handle<> Task::promise_type::Final::await_suspend(Handle ended) const noexcept {
  const promise_type& promise = ended.promise();
  // After a failure nobody goes on; the strand throws it.
  if (promise.strand->failure_) return std::noop_coroutine();
  if (promise.caller) return promise.caller;
  promise.strand->done_ = true;
  return std::noop_coroutine();
}

bool Strand::advance() {
  if (failure_) std::rethrow_exception(failure_);
  if (!begun_) {
    begun_ = true;
    task_.handle_.promise().strand = this;
    task_.handle_.resume();
  }
  while (!done_ && !failure_) {
    try {
      if (!waiter_->ready()) return false;
    } catch (...) {
      failure_ = std::current_exception();
      break;
    }
    waiter_ = nullptr;
    next_.resume();
  }
  if (failure_) std::rethrow_exception(failure_);
  return true;
}

}  // namespace thalweg::engine::comm
