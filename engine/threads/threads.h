// Threads, locks and the clock of a rank: the machine's, or those of a world that plays them
// (engine/simulate). Code that uses these alone runs in both.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace thalweg::engine::threads {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;

/// What takes the machine's place for the calling thread. One of its actors runs at a time, until
/// it waits or sleeps; so what lies between two of these calls needs no lock.
class World {
 public:
  virtual ~World() = default;
  virtual Time now() const = 0;
  virtual void sleep_until(Time time) = 0;
  /// An actor beside the calling one.
  virtual void start(std::function<void()> body) = 0;
  /// Until somebody wakes those who wait at `place`, or `time`; whoever waits looks again for what
  /// he waits for.
  virtual void wait(const void* place, Time time = Time::max()) = 0;
  virtual void wake(const void* place) = 0;
};

/// Of the calling thread; null: the machine.
World* world();
void set_world(World* world);

Time now();
void sleep_for(Clock::duration duration);

/// As std::mutex.
class Mutex {
 public:
  void lock();
  void unlock();

 private:
  friend class Condition;
  std::mutex real_;
  bool held_ = false;  ///< in a world
};

/// As std::condition_variable.
class Condition {
 public:
  void notify_all();
  template <class Holds>
  void wait(std::unique_lock<Mutex>& lock, const Holds& holds) {
    while (!holds())
      wait_once(lock, Time::max());
  }
  /// Whether it holds.
  template <class Holds>
  bool wait_for(std::unique_lock<Mutex>& lock, Clock::duration duration, const Holds& holds) {
    const Time end = now() + duration;
    while (!holds()) {
      if (now() >= end) return false;
      wait_once(lock, end);
    }
    return true;
  }

 private:
  void wait_once(std::unique_lock<Mutex>& lock, Time end);
  std::condition_variable real_;
};

/// As std::thread, but it must be joined.
class Thread {
 public:
  Thread() = default;
  explicit Thread(std::function<void()> body);
  void join();

 private:
  std::thread real_;
  std::shared_ptr<bool> ended_;  ///< in a world
};

}  // namespace thalweg::engine::threads
