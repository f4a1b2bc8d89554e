// What is emulated: presets and keys, times that cannot be shorter, and the same bits.
#include "engine/sync/emulate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "engine/sync/overlap.h"
#include "tests/engine/sync/support.h"

namespace thalweg::engine {
namespace {

using jobspec::List;
using jobspec::Map;
using jobspec::Value;
using testing::HasSubstr;

TEST(Emulate, APresetGivesWhatIsNotSet) {
  EXPECT_FALSE(read_emulation(Map{}).any());
  EXPECT_EQ(read_emulation(Map{}).label(), "");
  const Emulation compute = read_emulation(Map{{"preset", "compute"}});
  EXPECT_EQ(compute.label(), "compute (slowdown 4, 4, 2, 1; jitter 0.05)");
  EXPECT_EQ(compute.slowdown_of(2), 2);
  EXPECT_EQ(compute.slowdown_of(5), 4) << "begins again";
  EXPECT_TRUE(compute.links(4).empty());
  const Emulation own = read_emulation(Map{
      {"preset", "compute"}, {"slowdown", List{1, 3}}, {"jitter", 0}, {"mib_per_s", List{0, 50}}});
  EXPECT_EQ(own.label(), "compute (slowdown 1, 3; mib_per_s 0, 50)");
  ASSERT_EQ(own.links(2).size(), 2u);
  EXPECT_EQ(own.links(2)[1].mib_per_s, 50);
  EXPECT_FALSE(own.links(2)[0].limits());
  EXPECT_EQ(read_emulation(Map{{"slowdown", List{2}}}).label(), "own (slowdown 2)");
  EXPECT_TRUE(read_emulation(Map{{"preset", "network"}}).links(4)[3].limits());
  const Emulation mixed = read_emulation(Map{{"preset", "mixed"}});
  EXPECT_TRUE(mixed.pauses_at(0, 100));
  EXPECT_FALSE(mixed.pauses_at(0, 0) || mixed.pauses_at(0, 99) || mixed.pauses_at(1, 100));
}

TEST(Emulate, WhatCannotBeIsRefused) {
  for (const auto& [key, list] : {std::pair{"slowdown", List{1, 0.5}},
                                  {"mib_per_s", List{-1}},
                                  {"latency_us", List{-1}},
                                  {"pauses", List{-1}}})
    try {
      read_emulation(Map{{key, list}});
      FAIL() << key;
    } catch (const std::invalid_argument& error) {
      EXPECT_THAT(error.what(), HasSubstr(std::string("emulate.") + key));
    }
}

TEST(Emulate, JitterStaysWithinItsShareAndIsDrawnAnew) {
  const Emulation e = read_emulation(Map{{"slowdown", List{4}}, {"jitter", 0.25}});
  double least = 10, most = 0;
  for (int step = 0; step < 200; ++step) {
    const double factor = pass_factor(e, 3, 0, step, 0);
    EXPECT_EQ(factor, pass_factor(e, 3, 0, step, 0));
    least = std::min(least, factor);
    most = std::max(most, factor);
  }
  EXPECT_GE(least, 3);
  EXPECT_LE(most, 5);
  EXPECT_LT(least, 3.2);
  EXPECT_GT(most, 4.8);
}

// A lower bound, which no load of the machine can break.
TEST(Emulate, APaceTakesItsFactorOfTheProcessorsTime) {
  const Stopwatch watch;
  const Pace pace(5);
  timespec begin{}, end{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  const auto spent = [&] {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    return 1e3 * static_cast<double>(end.tv_sec - begin.tv_sec) +
           1e-6 * static_cast<double>(end.tv_nsec - begin.tv_nsec);
  };
  while (spent() < 10) {
  }
  pace.hold();
  EXPECT_GE(watch.ms(), 49);
}

TEST(Emulate, ChangesNoBits) {
  test::Case plain = test::batch_norm_and_dropout();
  const Emulation slow = read_emulation(
      Map{{"slowdown", List{3, 1, 2}}, {"jitter", 0.5}, {"pause_every", 2}, {"pause_ms", 5}});
  for (const char* mode : {"sync", "lag", "local"}) {
    plain.sync = Map{{"mode", mode}};
    plain.emulation = nullptr;
    const test::Trained expected = test::train(plain, 3, 2)[0];
    plain.emulation = &slow;
    EXPECT_EQ(test::train(plain, 3, 2)[0], expected) << mode;
  }
}

TEST(Emulate, AGpuIsRefused) {
  SyncFacts facts;
  facts.on_gpu = facts.emulates = true;
  try {
    require_sync(Map{}, facts);
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), HasSubstr("emulate"));
  }
}

}  // namespace
}  // namespace thalweg::engine
