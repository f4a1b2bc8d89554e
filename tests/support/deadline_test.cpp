#include "tests/support/deadline.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/support/process.h"

namespace thalweg::test {
namespace {

using Steady = std::chrono::steady_clock;
using std::chrono::duration_cast;
using std::chrono::seconds;

TEST(MachineTime, IsWhatATaskGetsOfAUsualCore) {
  const struct {
    Load load;
    double share;
  } table[] = {
      {{.cores = 2, .runnable = 1}, 1},
      {{.cores = 2, .runnable = 2}, 1},
      {{.cores = 2, .runnable = 20}, 0.1},
      {{.cores = 64, .runnable = 20}, 1},
      {{.cores = 2, .runnable = 0}, 1},
      {{.cores = 2, .runnable = 4, .stolen = 0.5}, 0.25},
      {{.cores = 2, .runnable = 4, .slowness = 2}, 0.25},
      {{.cores = 2, .runnable = 1, .stolen = 1}, 0.01},
  };
  for (const auto& row : table)
    EXPECT_DOUBLE_EQ(row.load.share(), row.share) << row.load.runnable << " " << row.load.stolen;
}

TEST(MachineTime, CountsWhatPassesAtTheMeanOfTheLoadAtBothLooks) {
  Load load{.cores = 2, .runnable = 1};
  int asked = 0;
  MachineTime time([&] {
    ++asked;
    return load;
  });
  const Steady::time_point start{};
  EXPECT_EQ(time.look(start), seconds(0));
  EXPECT_EQ(time.look(start + seconds(2)), seconds(2));
  load.runnable = 4;
  EXPECT_EQ(time.look(start + seconds(6)), seconds(2 + 3));
  EXPECT_EQ(time.look(start + seconds(8)), seconds(2 + 3 + 1));
  EXPECT_EQ(asked, 4);
  load.runnable = 1;  // not asked for so soon
  EXPECT_EQ(time.look(start + seconds(8) + milliseconds(40)), seconds(6) + milliseconds(20));
  EXPECT_EQ(asked, 4);
  time.look(start + seconds(8) + milliseconds(50));
  EXPECT_EQ(asked, 5);
}

TEST(MachineClock, RunsSlowlyOnABusyMachineAndNeverFasterThanTime) {
  const auto both = [](auto wait) {
    const auto start = Steady::now();
    const auto counted = MachineClock::now();
    wait();
    const auto end = MachineClock::now();
    return std::pair(duration_cast<milliseconds>(end - counted), Steady::now() - start);
  };
  const auto [idle, passed] = both([] { sleep_for(milliseconds(100)); });
  EXPECT_LE(idle, passed);
  const unsigned cores = std::thread::hardware_concurrency();
  std::atomic<bool> over = false;
  std::vector<std::thread> busy;
  for (unsigned i = 0; i < 4 * cores; ++i)
    busy.emplace_back([&] {
      while (!over)
        continue;
    });
  const auto [counted, all] = both([] {
    for (const auto end = Steady::now() + milliseconds(300); Steady::now() < end;)
      eventually([] { return false; }, milliseconds(10));
  });
  over = true;
  for (std::thread& thread : busy)
    thread.join();
  EXPECT_LT(counted, all / 2);
  EXPECT_GT(counted, milliseconds(0));
}

TEST(Deadline, PassesWhereNothingComes) {
  EXPECT_FALSE(Deadline(seconds(3600)).passed());
  EXPECT_FALSE(eventually([] { return false; }, milliseconds(20)));
  EXPECT_TRUE(eventually([] { return true; }, milliseconds(0))) << "looked at least once";
  EXPECT_GE(slowed(milliseconds(100)), milliseconds(100));
}

TEST(Run, EndsWhatDoesNotEnd) {
  const Outcome outcome = run({"sh", "-c", "echo begun; exec sleep 1000"},
                              {.env = {}, .directory = {}, .deadline = milliseconds(300)});
  EXPECT_TRUE(outcome.timed_out);
  EXPECT_EQ(outcome.code, -1);
}

}  // namespace
}  // namespace thalweg::test
