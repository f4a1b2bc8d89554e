// What many users ask of one thread, in turns: each has a queue of his own, and after one piece of
// work comes the next user's. So nobody waits for more than one piece of each of the others,
// however many they send.
#pragma once

#include <utility>  // boost 1.74's awaitable.hpp needs it first

#include <sys/types.h>

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "daemon/controller/worker.h"
#include "daemon/server/reader.h"

namespace thalweg::daemon {

/// Of one thread, but for Time.
class Turns {
 public:
  /// Whoever has worked so long while others wait is to make room.
  static constexpr double slice_s = 2;

  /// How long a turn may last, for the work itself to ask, on any thread.
  class Time {
   public:
    explicit Time(double slice) : slice_s_(slice) {}
    /// Others have waited for a slice.
    bool over() const;
    /// From now on, if not before.
    void others_wait();

   private:
    double slice_s_;
    std::atomic<std::int64_t> end_{0};  ///< nanoseconds; 0 = nobody waits
  };

  struct Line;
  /// Ends when it is destroyed.
  class Turn {
   public:
    Turn(std::weak_ptr<Line> line, std::shared_ptr<Time> time)
        : line_(std::move(line)), time_(std::move(time)) {}
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    const std::shared_ptr<Time>& time() const { return time_; }

   private:
    std::weak_ptr<Line> line_;  ///< gone at the controller's end
    std::shared_ptr<Time> time_;
  };

  explicit Turns(boost::asio::any_io_executor executor, double slice = slice_s);
  /// Waits for the user's turn.
  boost::asio::awaitable<std::shared_ptr<Turn>> take(uid_t user);
  /// Turns that have begun.
  std::int64_t begun() const;
  /// Of all users.
  std::size_t waiting() const;

 private:
  std::shared_ptr<Line> line_;
};

/// `work`, given the turn's time as its last argument where it takes that.
template <class F>
auto with_time(F work, std::shared_ptr<const Turns::Time> time) {
  return [work = std::move(work), time = std::move(time)](auto&... on) mutable {
    if constexpr (std::is_invocable_v<F&, decltype(on)..., const Turns::Time&>)
      return work(on..., *time);
    else
      return work(on...);
  };
}
template <class F, class... On>
using TimedResult = std::invoke_result_t<
    decltype(with_time(std::declval<F>(), std::shared_ptr<const Turns::Time>()))&, On...>;

/// Waits for the user's turn and hands `work`, which then knows its time, on to `run`.
template <class Result, class F, class Run>
boost::asio::awaitable<Result> in_turn(Turns& turns, uid_t user, F work, Run run) {
  const auto turn = co_await turns.take(user);
  auto timed = with_time(std::move(work), turn->time());
  co_return co_await run(std::move(timed));
}

/// A worker that users share. Give `work` a name, as for Worker::run().
class SharedWorker {
 public:
  explicit SharedWorker(boost::asio::any_io_executor executor,
                        Worker::Priority priority = Worker::Priority::normal)
      : turns_(executor), on_(executor, priority) {}
  template <class F>
  boost::asio::awaitable<TimedResult<F>> run(uid_t user, F work) {
    return in_turn<TimedResult<F>>(turns_, user, std::move(work),
                                   [this](auto timed) { return on_.run(std::move(timed)); });
  }
  const Turns& turns() const { return turns_; }

 private:
  Turns turns_;
  Worker on_;
};

/// The same of a reader: work(store).
class SharedReader {
 public:
  SharedReader(boost::asio::any_io_executor executor, std::filesystem::path database,
               Worker::Priority priority = Worker::Priority::normal)
      : turns_(executor), on_(executor, std::move(database), priority) {}
  template <class F>
  boost::asio::awaitable<TimedResult<F, db::ReadStore&>> run(uid_t user, F work) {
    return in_turn<TimedResult<F, db::ReadStore&>>(
        turns_, user, std::move(work), [this](auto timed) { return on_.run(std::move(timed)); });
  }
  /// The same as Reader::run_alone().
  template <class F>
  boost::asio::awaitable<TimedResult<F, db::ReadStore&>> run_alone(uid_t user, F work) {
    return in_turn<TimedResult<F, db::ReadStore&>>(
        turns_, user, std::move(work),
        [this](auto timed) { return on_.run_alone(std::move(timed)); });
  }
  const Turns& turns() const { return turns_; }

 private:
  Turns turns_;
  Reader on_;
};

}  // namespace thalweg::daemon
