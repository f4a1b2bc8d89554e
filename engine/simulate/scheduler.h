// A virtual clock and the actors that live by it, all in one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <queue>
#include <unordered_map>
#include <vector>

#include "engine/threads/threads.h"

namespace thalweg::engine::simulate {

/// What happens at a time of the clock.
class Happening {
 public:
  virtual ~Happening() = default;
  /// Called once, by the scheduler, outside of any actor.
  virtual void happen() = 0;
};

/// Actors are fibers: each runs until it waits or sleeps, then the one whose time comes first;
/// equal times in the order in which they were asked for. So two runs of the same actors are the
/// same. What an actor computes takes no time; only sleeping does.
class Scheduler final : public threads::World {
 public:
  Scheduler();
  /// What actors hold that have not ended is not freed.
  ~Scheduler() override;
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Before run(), or by an actor.
  void start(std::function<void()> body) override;
  /// Until all actors have ended: true. False where `stops`, asked now and then, says so. Rethrows
  /// the first exception that an actor threw, once all others have ended or nothing can happen to
  /// them any more; std::runtime_error where nothing can and none threw. While it runs, this is
  /// threads::world() of the calling thread.
  bool run(const std::function<bool()>& stops = {});

  threads::Time now() const override { return now_; }
  double seconds() const;
  void sleep_until(threads::Time time) override;
  void wait(const void* place, threads::Time time = threads::Time::max()) override;
  void wake(const void* place) override;
  /// Keeps it until it has happened.
  void at(threads::Time time, std::unique_ptr<Happening> happening);
  std::uint64_t events() const { return events_; }  ///< that have happened

 private:
  struct Fiber;
  struct Waiter {
    std::size_t fiber;   ///< its number
    std::uint64_t turn;  ///< it waits no longer where the fiber's is another one, or it has ended
  };
  struct Event {
    threads::Time time;
    std::uint64_t number;
    Waiter waiter;         ///< whose turn it is, or
    Happening* happening;  ///< what happens
    bool operator>(const Event& other) const {
      return time != other.time ? time > other.time : number > other.number;
    }
  };

  static void enter(unsigned high, unsigned low);
  void live();
  void resume(const Waiter& waiter);
  void leave();
  Waiter self() const;
  [[noreturn]] void give_up() const;

  struct Context;
  std::unique_ptr<Context> home_;  ///< of run()
  threads::Time now_{};
  std::priority_queue<Event, std::vector<Event>, std::greater<>> due_;
  std::unordered_map<const void*, std::vector<Waiter>> waiting_;
  std::vector<std::unique_ptr<Fiber>> fibers_;  ///< by number; null: it has ended
  std::size_t alive_ = 0, current_ = 0;         ///< how many have not; whose turn it is
  std::uint64_t numbers_ = 0, events_ = 0;
  std::exception_ptr error_;
};

}  // namespace thalweg::engine::simulate
