// Work that takes long or waits (the database, another program), off the controller's thread: a
// thread of its own that does one thing after the other.
#pragma once

#include <utility>  // boost 1.74's awaitable.hpp needs it first

#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>

#include "daemon/backend/disk.h"
#include "daemon/backend/timer.h"

namespace thalweg::daemon {

class Worker {
 public:
  /// In the background: of work that may take a processor for seconds. Where processors are few,
  /// the controller's own thread, which everybody waits for, goes first.
  enum class Priority { normal, background };

  /// Results come back on `executor`, which must run on one thread.
  /// Without a thread the work is done on `executor`, too.
  explicit Worker(boost::asio::any_io_executor executor, Disk::Threads threads = Disk::Threads::own,
                  Priority priority = Priority::normal)
      : executor_(std::move(executor)) {
    if (threads != Disk::Threads::own) return;
    pool_.emplace(1);
    if (priority == Priority::background)
      boost::asio::post(*pool_, [] {
        setpriority(PRIO_PROCESS, 0, std::max(background_nice, getpriority(PRIO_PROCESS, 0)));
      });
  }
  Worker(boost::asio::any_io_executor executor, Priority priority)
      : Worker(std::move(executor), Disk::Threads::own, priority) {}
  /// What has not begun is left out.
  ~Worker() {
    if (!pool_) return;
    pool_->stop();
    pool_->join();
  }

  const boost::asio::any_io_executor& executor() const { return executor_; }

  /// Runs `work()` there and gives its result here. What it throws comes out of the co_await. Give
  /// it a name: g++ 12 destroys a closure twice that is a temporary of a co_await which throws.
  template <class F>
  boost::asio::awaitable<std::invoke_result_t<F&>> run(F work) {
    using Result = std::invoke_result_t<F&>;
    auto job = std::make_shared<Job<Result>>(executor_);
    auto all = [this, job, work = std::move(work)]() mutable {
      try {
        job->result.emplace(work());
      } catch (...) {
        job->error = std::current_exception();
      }
      boost::asio::post(executor_, [job = std::move(job)] { job->done.cancel(); });
    };
    if (pool_)
      boost::asio::post(*pool_, std::move(all));
    else
      boost::asio::post(executor_, std::move(all));
    return wait(std::move(job));
  }

 private:
  template <class Result>
  struct Job {
    explicit Job(const boost::asio::any_io_executor& executor)
        : done(executor, Timer::time_point::max()) {}
    Timer done;  ///< cancelled when the result is there
    std::optional<Result> result;
    std::exception_ptr error;
  };

  template <class Result>
  static boost::asio::awaitable<Result> wait(std::shared_ptr<Job<Result>> job) {
    boost::system::error_code cancelled;
    co_await job->done.async_wait(
        boost::asio::redirect_error(boost::asio::use_awaitable, cancelled));
    if (job->error) std::rethrow_exception(job->error);
    co_return std::move(*job->result);
  }

  /// A tenth of the share of one at 0. Linux sets it for the calling thread alone.
  static constexpr int background_nice = 10;

  boost::asio::any_io_executor executor_;
  std::optional<boost::asio::thread_pool> pool_;
};

}  // namespace thalweg::daemon
