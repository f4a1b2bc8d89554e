// Random programs of collectives, on ranks as threads.
#include "tests/engine/comm/fuzz.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/engine/comm/threads.h"

namespace thalweg::engine::comm {
namespace {

/// THALWEG_TEST_SEED, or another one each time.
unsigned seed() {
  const char* given = std::getenv("THALWEG_TEST_SEED");
  return given ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : std::random_device{}();
}

class RandomPrograms : public testing::TestWithParam<bool> {};

TEST_P(RandomPrograms, GiveTheNumbersThatEachRankWorksOutAlone) {
  const unsigned first = seed();
  for (unsigned round = 0; round < 12; ++round) {
    const unsigned number = first + round;
    const int ranks = 1 + static_cast<int>(number * 2654435761U >> 16U) % 9;
    SCOPED_TRACE("seed " + std::to_string(number) + ", " + std::to_string(ranks) + " ranks");
    GroupOptions options;
    options.checked = GetParam();
    EXPECT_NO_THROW(
        on_ranks(ranks, options, [&](Group& group) { Fuzz(group, number, 20000).run(60); }));
  }
}

INSTANTIATE_TEST_SUITE_P(Checked, RandomPrograms, testing::Bool());

}  // namespace
}  // namespace thalweg::engine::comm
