// An algorithm as a coroutine: it reads like blocking code, stops wherever it must wait for
// messages, and is resumed when they are there. So one text serves blocking and non-blocking calls.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

namespace thalweg::engine::comm {

class Strand;

/// Something that a coroutine waits for.
class Waiter {
 public:
  virtual ~Waiter() = default;
  /// Looked at after every progress of the transport. Throws CommError: then the coroutine is never
  /// resumed, and its strand fails.
  virtual bool ready() = 0;
};

/// A coroutine that has not begun. `co_await task` runs it as part of the one that awaits it.
class [[nodiscard]] Task {
 public:
  struct promise_type;
  using Handle = std::coroutine_handle<promise_type>;

  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  Handle await_suspend(Handle caller) noexcept;
  void await_resume() const noexcept {}

 private:
  friend class Strand;
  explicit Task(Handle handle) : handle_(handle) {}
  Handle handle_;
};

/// A task under way together with what it waits for. Neither copied nor moved once it has begun.
class Strand {
 public:
  explicit Strand(Task task) : task_(std::move(task)) {}
  Strand(Strand&&) = default;

  /// Begins, or goes on as far as what has arrived allows. True when the task has ended. Throws
  /// what a waiter or the task itself threw, now and at every later call.
  bool advance();
  bool done() const { return done_; }

  /// Called by awaiters: stop here until the waiter is ready.
  void wait_for(Waiter& waiter, std::coroutine_handle<> then) {
    waiter_ = &waiter;
    next_ = then;
  }

 private:
  friend struct Task::promise_type;
  Task task_;
  Waiter* waiter_ = nullptr;
  std::coroutine_handle<> next_;
  std::exception_ptr failure_;
  bool begun_ = false;
  bool done_ = false;
};

struct Task::promise_type {
  Strand* strand = nullptr;
  std::coroutine_handle<> caller;

  struct Final {
    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(Handle ended) const noexcept;
    void await_resume() const noexcept {}
  };

  Task get_return_object() { return Task(Handle::from_promise(*this)); }
  std::suspend_always initial_suspend() const noexcept { return {}; }
  Final final_suspend() const noexcept { return {}; }
  void return_void() const {}
  void unhandled_exception() { strand->failure_ = std::current_exception(); }
};

/// `co_await` on anything derived from this waits until ready().
class Awaitable : public Waiter {
 public:
  bool await_ready() const noexcept { return false; }
  /// Tried at once, outside the coroutine, so that an exception never unwinds through it.
  void await_suspend(Task::Handle coroutine) {
    coroutine.promise().strand->wait_for(*this, coroutine);
  }
  void await_resume() const noexcept {}
};

/// Waits until a condition holds that every look may bring about: `co_await Until([&] {...})`.
template <class F>
class Until : public Awaitable {
 public:
  explicit Until(F condition) : condition_(std::move(condition)) {}
  bool ready() override { return condition_(); }

 private:
  F condition_;
};

/// Several concurrent tasks: `co_await together`. Of more than `at_once` the later ones begin as
/// earlier ones end.
class Together : public Awaitable {
 public:
  explicit Together(std::size_t at_once = SIZE_MAX) : at_once_(at_once) {}
  void add(Task task) { strands_.emplace_back(std::move(task)); }
  bool ready() override {
    std::size_t open = 0;
    for (Strand& strand : strands_) {
      if (strand.done() || strand.advance()) continue;
      if (++open == at_once_) break;
    }
    return open == 0;
  }

 private:
  std::size_t at_once_;
  std::vector<Strand> strands_;
};

}  // namespace thalweg::engine::comm
