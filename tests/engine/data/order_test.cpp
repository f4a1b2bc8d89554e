#include "engine/data/order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace thalweg::engine {
namespace {

TEST(Permutation, HoldsEveryNumberOnceAndDependsOnSeedAndRound) {
  auto order = permutation(7, Stream::shuffle, 0, 1000);
  EXPECT_EQ(order, permutation(7, Stream::shuffle, 0, 1000));
  EXPECT_NE(order, permutation(8, Stream::shuffle, 0, 1000));
  EXPECT_NE(order, permutation(7, Stream::shuffle, 1, 1000));
  std::sort(order.begin(), order.end());
  std::vector<std::uint32_t> all(1000);
  std::iota(all.begin(), all.end(), 0u);
  EXPECT_EQ(order, all);
}

// From a ten-line Philox in Python. Another order here means that every curve of every seed
// changes.
TEST(Permutation, IsTheSameOnEveryMachine) {
  EXPECT_THAT(permutation(1, Stream::shuffle, 0, 8), testing::ElementsAre(6, 2, 1, 0, 5, 3, 4, 7));
}

TEST(Permutation, PutsEveryNumberEverywhere) {
  std::vector<std::vector<int>> seen(5, std::vector<int>(5));
  for (std::uint32_t round = 0; round < 2000; ++round) {
    const auto order = permutation(3, Stream::shuffle, round, 5);
    for (std::size_t i = 0; i < 5; ++i)
      ++seen[i][order[i]];
  }
  for (const auto& row : seen)
    for (const int count : row)
      EXPECT_NEAR(count, 400, 100);  // five standard deviations: 90
}

}  // namespace
}  // namespace thalweg::engine
