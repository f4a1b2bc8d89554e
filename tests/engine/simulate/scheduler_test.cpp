// The virtual clock: order of actors, waiting, threads and locks by it.
#include "engine/simulate/scheduler.h"

#include <gtest/gtest.h>

#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace thalweg::engine::simulate {
namespace {

using std::chrono::milliseconds;

TEST(Scheduler, TakesActorsInTheOrderOfTheirTimes) {
  Scheduler scheduler;
  std::vector<std::string> order;
  const auto actor = [&](const std::string& name, int ms) {
    scheduler.start([&, name, ms] {
      for (int i = 0; i < 2; ++i) {
        threads::sleep_for(milliseconds(ms));
        order.push_back(name);
      }
    });
  };
  actor("a", 3);
  actor("b", 2);
  actor("c", 3);
  EXPECT_TRUE(scheduler.run());
  EXPECT_EQ(order, (std::vector<std::string>{"b", "a", "c", "b", "a", "c"}));
  EXPECT_DOUBLE_EQ(scheduler.seconds(), 0.006);
  EXPECT_EQ(threads::world(), nullptr);
}

TEST(Scheduler, ThreadsAndConditionsGoByItsClock) {
  Scheduler scheduler;
  threads::Mutex mutex;
  threads::Condition changed;
  bool there = false, early = true;
  double heard = 0;
  scheduler.start([&] {
    threads::Thread thread([&] {
      threads::sleep_for(milliseconds(5));
      const std::lock_guard lock(mutex);
      there = true;
      changed.notify_all();
    });
    std::unique_lock lock(mutex);
    early = changed.wait_for(lock, milliseconds(2), [&] { return there; });
    EXPECT_DOUBLE_EQ(scheduler.seconds(), 0.002);
    changed.wait(lock, [&] { return there; });
    heard = scheduler.seconds();
    lock.unlock();
    thread.join();
  });
  EXPECT_TRUE(scheduler.run());
  EXPECT_FALSE(early);
  EXPECT_DOUBLE_EQ(heard, 0.005);
}

TEST(Scheduler, AnActorWaitsForALockThatASleeperHolds) {
  Scheduler scheduler;
  threads::Mutex mutex;
  double got = 0;
  scheduler.start([&] {
    const std::lock_guard lock(mutex);
    threads::sleep_for(milliseconds(4));
  });
  scheduler.start([&] {
    const std::lock_guard lock(mutex);
    got = scheduler.seconds();
  });
  EXPECT_TRUE(scheduler.run());
  EXPECT_DOUBLE_EQ(got, 0.004);
}

TEST(Scheduler, TellsWhatAnActorThrewAfterTheOthersHaveEnded) {
  Scheduler scheduler;
  bool ended = false;
  scheduler.start([] { throw std::invalid_argument("no such thing"); });
  scheduler.start([&] {
    threads::sleep_for(milliseconds(1));
    ended = true;
  });
  EXPECT_THROW(scheduler.run(), std::invalid_argument);
  EXPECT_TRUE(ended);
}

TEST(Scheduler, ActorsHandleExceptionsWhileOthersDo) {
  Scheduler scheduler;
  std::vector<std::string> caught;
  for (const char* name : {"a", "b"})
    scheduler.start([&, name] {
      try {
        throw std::runtime_error(name);
      } catch (const std::exception&) {
        threads::sleep_for(milliseconds(1));
        try {
          throw;  // its own, not the one that another actor handles
        } catch (const std::exception& mine) {
          caught.emplace_back(mine.what());
        }
      }
    });
  EXPECT_TRUE(scheduler.run());
  EXPECT_EQ(caught, (std::vector<std::string>{"a", "b"}));
}

TEST(Scheduler, SaysThatNothingCanHappenAnyMore) {
  Scheduler scheduler;
  const int nobody = 0;
  scheduler.start([&] { scheduler.wait(&nobody); });
  EXPECT_THROW(scheduler.run(), std::runtime_error);
}

TEST(Scheduler, StopsWhenAsked) {
  Scheduler scheduler;
  scheduler.start([] {
    while (true)
      threads::sleep_for(milliseconds(1));
  });
  EXPECT_FALSE(scheduler.run([] { return true; }));
}

}  // namespace
}  // namespace thalweg::engine::simulate
