// Algorithms by size, as people write them.
#include "engine/comm/algorithms/choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/comm/group.h"
#include "tests/support/memory_transport.h"

namespace thalweg::engine::comm {
namespace {

using testing::HasSubstr;

Layout ranks(int n) {
  Layout layout;
  layout.ranks = n;
  layout.machines = {{}};
  for (int r = 0; r < n; ++r) {
    layout.machines[0].push_back(r);
  }
  return layout;
}

std::string chosen(const std::string& text, std::size_t bytes) {
  return Choice::parse(Collective::allreduce, text)(ranks(4), bytes).name;
}

std::string complaint(const std::string& text) {
  try {
    (void)Choice::parse(Collective::allreduce, text);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Choice, EveryRowOfEveryCollectiveIsReachableByName) {
  for (int c = 0; c <= static_cast<int>(Collective::barrier); ++c) {
    const auto collective = static_cast<Collective>(c);
    ASSERT_FALSE(rows_of(collective).empty());
    EXPECT_EQ(Needs::nothing, rows_of(collective).front().needs);
    for (const Row& row : rows_of(collective)) {
      EXPECT_EQ(collective, row.collective);
      EXPECT_EQ(&row, find_row(collective, row.name));
      EXPECT_EQ(&row, &Choice::parse(collective, row.name)(ranks(4), 1));
    }
    EXPECT_EQ(nullptr, find_row(collective, "rings"));
  }
}

TEST(Choice, AutoTakesWhatTheRanksCanDoOnAnyLayout) {
  for (const int machines : {1, 2, 3}) {
    for (int n = 2; n <= 20; ++n) {
      Layout layout = ranks(n);
      layout.machines.assign(static_cast<std::size_t>(std::min(machines, n)), {});
      for (int r = 0; r < n; ++r) {
        layout.machines[static_cast<std::size_t>(r) % layout.machines.size()].push_back(r);
      }
      for (int c = 0; c <= static_cast<int>(Collective::barrier); ++c) {
        for (std::size_t bytes = 0; bytes < SIZE_MAX / 4; bytes = bytes * 3 + 1) {
          const Row& row = choose_row(static_cast<Collective>(c), layout, bytes);
          ASSERT_TRUE(layout.allows(row.needs)) << row.name << " on " << n << " ranks";
          ASSERT_EQ(static_cast<Collective>(c), row.collective);
          ASSERT_NE(Needs::shared_memory, row.needs) << "they have none";
        }
      }
    }
  }
}

TEST(Choice, ARangeHoldsItsFirstSizeAndNotItsSecond) {
  const std::string text = "recursive_doubling:0-8K, ring:8K-";
  EXPECT_EQ("recursive_doubling", chosen(text, 0));
  EXPECT_EQ("recursive_doubling", chosen(text, 8191));
  EXPECT_EQ("ring", chosen(text, 8192));
  EXPECT_EQ("ring", chosen(text, SIZE_MAX));
  EXPECT_EQ("recursive_doubling:0-8K,ring:8K-", Choice::parse(Collective::allreduce, text).text());
}

TEST(Choice, UnitsArePowersOf1024AndOrderIsFree) {
  const std::string text = "ring:1M-2M;recursive_doubling:0-100";
  EXPECT_EQ("ring", chosen(text, 1U << 20U));
  EXPECT_EQ("ring", chosen(text, (2U << 20U) - 1));
  EXPECT_EQ("recursive_doubling", chosen(text, 99));
  EXPECT_EQ(chosen("auto", 4096), chosen(text, 4096));
  EXPECT_EQ("ring", chosen("ring:1G-", 1U << 30U));
}

TEST(Choice, AMistakeIsToldWithWhatThereIs) {
  EXPECT_THAT(complaint("rings"), HasSubstr("no algorithm \"rings\""));
  EXPECT_THAT(complaint("rings"), HasSubstr("recursive_doubling, ring"));
  EXPECT_THAT(complaint(""), HasSubstr("no algorithm \"\""));
  EXPECT_THAT(complaint("ring:8"), HasSubstr("a range of sizes"));
  EXPECT_THAT(complaint("ring:8Q-"), HasSubstr("\"8Q\" is no size"));
  EXPECT_THAT(complaint("ring:-8"), HasSubstr("\"\" is no size"));
  EXPECT_THAT(complaint("ring:99999999999999999999-"), HasSubstr("is no size"));
  EXPECT_THAT(complaint("ring:99999999999G-"), HasSubstr("is no size"));
  EXPECT_THAT(complaint("ring:8K-8K"), HasSubstr("empty"));
  EXPECT_THAT(complaint("ring:0-8K,recursive_doubling:4K-"), HasSubstr("overlaps"));
  EXPECT_THAT(complaint("ring,ring"), HasSubstr("overlaps"));
  EXPECT_THAT(complaint("ring,"), HasSubstr("no algorithm"));
}

TEST(Choice, AGroupRefusesAnUnknownName) {
  auto transports = memory_transports(1);
  EXPECT_THROW(Group(std::move(transports[0]), {.allreduce = "rings"}), std::invalid_argument);
}

}  // namespace
}  // namespace thalweg::engine::comm
