#include "daemon/backend/disk.h"

#include <gtest/gtest.h>

#include <future>
#include <string>
#include <thread>

#include "tests/support/process.h"

namespace thalweg::daemon {
namespace {

TEST(Disk, GivesWhatTheWorkGivesAndThrowsWhatItThrows) {
  Disk disk(60);
  EXPECT_EQ(disk.run([] { return std::string("read"); }), "read");
  bool done = false;
  disk.run([&] { done = true; });
  EXPECT_TRUE(done);
  EXPECT_THROW(disk.run([]() -> int { throw 7; }), int);
  EXPECT_NE(disk.run([] { return std::this_thread::get_id(); }), std::this_thread::get_id());
  EXPECT_FALSE(disk.hangs());
}

/// Some time, as a machine may be too busy for so little patience.
bool gets_done(Disk& disk, const std::function<int()>& work) {
  return test::eventually([&] {
    try {
      return disk.run(work) == 1;
    } catch (const DiskHangs&) {
      return false;
    }
  });
}

TEST(Disk, GivesUpOnWhatHangsAndGoesOnAfterIt) {
  Disk disk(0.05);
  std::promise<void> answer;
  const auto hung = [future = answer.get_future().share()] { future.wait(); };
  EXPECT_THROW(disk.run(hung), DiskHangs);
  EXPECT_TRUE(disk.hangs());
  bool reached = false;
  EXPECT_THROW(disk.run([&] { reached = true; }), DiskHangs) << "nothing is begun meanwhile";
  answer.set_value();
  ASSERT_TRUE(test::eventually([&] { return !disk.hangs(); }));
  EXPECT_FALSE(reached);
  EXPECT_TRUE(gets_done(disk, [] { return 1; }));
}

TEST(Disk, WhatIsOnlySlowGetsDone) {
  Disk disk(0.02);
  std::promise<void> answer;
  EXPECT_THROW(disk.run([future = answer.get_future().share()] { future.wait(); }), DiskHangs);
  answer.set_value();
  EXPECT_TRUE(gets_done(disk, [] {
    test::sleep_for(test::milliseconds(100));
    return 1;
  }));
}

TEST(Disk, EndsWhileWorkHangs) {
  std::promise<void> answer;
  const auto hung = [future = answer.get_future().share()] { future.wait(); };
  {
    Disk disk(0.01);
    EXPECT_THROW(disk.run(hung), DiskHangs);
  }
  answer.set_value();
}

}  // namespace
}  // namespace thalweg::daemon
