// The choice of kernels against a search through all choices.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "engine/device/cuda/kernel_choice.h"
#include "engine/tensor/random.h"

namespace thalweg::engine::cuda {
namespace {

struct Total {
  double time = 0;
  std::size_t bytes = 0, largest = 0;
};

Total total_of(const std::vector<Ways>& calls, const std::vector<int>& chosen) {
  Total total;
  for (std::size_t c = 0; c < calls.size(); ++c) {
    const Way& way = calls[c][static_cast<std::size_t>(chosen[c])];
    total.time += way.time;
    total.bytes += way.workspace;
    total.largest = std::max(total.largest, way.workspace);
  }
  return total;
}

/// The least time of all choices that fit; infinity where none does.
double search(const std::vector<Ways>& calls, std::size_t bound, bool in_turn) {
  double least = std::numeric_limits<double>::infinity();
  std::vector<int> chosen(calls.size(), 0);
  while (true) {
    const Total total = total_of(calls, chosen);
    if ((in_turn ? total.largest : total.bytes) <= bound) least = std::min(least, total.time);
    std::size_t c = 0;
    while (c < calls.size() && ++chosen[c] == static_cast<int>(calls[c].size()))
      chosen[c++] = 0;
    if (c == calls.size()) return least;
  }
}

/// Ways with few different numbers, so that there are ties.
std::vector<Ways> some_calls(std::uint64_t seed, std::size_t count) {
  std::vector<Ways> calls(count);
  for (std::size_t c = 0; c < count; ++c) {
    const auto bits = philox(seed, Stream::noise, 0, c);
    for (std::uint32_t w = 0; w < 1 + bits[0] % 5; ++w) {
      const auto way = philox(seed, Stream::noise, 1 + w, c);
      calls[c].push_back({static_cast<double>(way[0] % 40) / 8, way[1] % 30 * (1 + way[2] % 7)});
    }
  }
  return calls;
}

TEST(KernelChoice, IsTheBestOfAllChoices) {
  int fitted = 0, refused = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const std::vector<Ways> calls = some_calls(seed, 1 + seed % 6);
    const std::size_t bound = philox(seed, Stream::noise, 99, 0)[0] % 400;
    for (const bool in_turn : {true, false}) {
      const double least = search(calls, bound, in_turn);
      const auto chosen = in_turn ? choose_in_turn(calls, bound) : choose_together(calls, bound);
      ASSERT_EQ(chosen.has_value(), least < 1e300) << seed;
      ++(chosen ? fitted : refused);
      if (!chosen) continue;
      const Total total = total_of(calls, *chosen);
      EXPECT_LE(in_turn ? total.largest : total.bytes, bound) << seed;
      EXPECT_NEAR(total.time, least, 1e-12) << seed;
    }
  }
  EXPECT_GT(fitted, 100);
  EXPECT_GT(refused, 20);
}

// Each call's way depends on all others here: taking the best saving a byte first is not enough.
TEST(KernelChoice, WeighsCallsAgainstEachOther) {
  const std::vector<Ways> calls{{{10, 0}, {4, 6}}, {{10, 0}, {5, 5}}, {{10, 0}, {5, 5}}};
  EXPECT_EQ(choose_together(calls, 10), (std::vector<int>{0, 1, 1}));
  EXPECT_EQ(choose_in_turn(calls, 5), (std::vector<int>{0, 1, 1}));
  EXPECT_EQ(choose_in_turn(calls, 6), (std::vector<int>{1, 1, 1}));
}

TEST(KernelChoice, OfManyCallsIsWithinTheRelaxation) {
  const std::vector<Ways> calls = some_calls(3, 150);
  std::size_t least = 0;
  for (const Ways& ways : calls)
    least += std::min_element(ways.begin(), ways.end(), [](const Way& a, const Way& b) {
               return a.workspace < b.workspace;
             })->workspace;
  double before = std::numeric_limits<double>::infinity();
  for (std::size_t more = 0; more < 3000; more += 500) {
    const auto chosen = choose_together(calls, least + more);
    ASSERT_TRUE(chosen);
    const Total total = total_of(calls, *chosen);
    EXPECT_LE(total.bytes, least + more);
    EXPECT_LE(total.time, before);
    before = total.time;
  }
  EXPECT_FALSE(choose_together(calls, least - 1));
}

TEST(KernelChoice, TakesTheFirstOfEqualWays) {
  EXPECT_EQ(choose_in_turn({{{2, 9}, {1, 3}, {1, 3}}}, 9), (std::vector<int>{1}));
  EXPECT_EQ(choose_in_turn({}, 0), std::vector<int>{});
  EXPECT_EQ(choose_together({}, 0), std::vector<int>{});
}

}  // namespace
}  // namespace thalweg::engine::cuda
