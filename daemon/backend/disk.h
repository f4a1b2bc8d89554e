// Work on run folders, on a thread of its own: a network filesystem that hangs holds up that thread
// and not the controller, its API or its end.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace thalweg::daemon {

class DiskHangs : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Used from one thread. At its end work that hangs is left to itself.
class Disk {
 public:
  /// Work that was given up and ends all the same makes the patience longer, up to ten seconds:
  /// what is only slow gets done. `before` is called on the thread before each work (tests hang
  /// there).
  enum class Threads {
    own,
    none  ///< the caller does the work: a simulation, whose `before` throws DiskHangs
  };
  explicit Disk(double patience_s = 2, std::function<void()> before = {},
                Threads threads = Threads::own);
  ~Disk();
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  /// Does `work` on the thread, waits, and gives what it gives or throws what it throws. Throws
  /// DiskHangs where that takes longer than the patience, and at once while earlier work still
  /// hangs. What was given up goes on some time, so `work` must own all it uses, and nothing may
  /// depend on whether it was done.
  template <class F>
  std::invoke_result_t<F&> run(F work) {
    using Result = std::invoke_result_t<F&>;
    auto done = std::make_shared<Done<Result>>();
    wait_for([done, before = before_, work = std::move(work)]() mutable {
      try {
        if (before) before();
        if constexpr (std::is_void_v<Result>)
          work();
        else
          done->result.emplace(work());
      } catch (...) {
        done->error = std::current_exception();
      }
    });
    if (done->error) std::rethrow_exception(done->error);
    if constexpr (!std::is_void_v<Result>) return std::move(*done->result);
  }

  /// For how many seconds work has hung; nothing where none does.
  std::optional<double> hangs() const;

 private:
  struct Shared;
  struct Nothing {};
  template <class Result>
  struct Done {
    std::optional<std::conditional_t<std::is_void_v<Result>, Nothing, Result>> result;
    std::exception_ptr error;
  };

  void wait_for(std::function<void()> work);

  std::function<void()> before_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace thalweg::daemon
