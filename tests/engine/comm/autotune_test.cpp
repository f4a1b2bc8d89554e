// Measuring at start: all ranks take the same table, and it can be given back as an override.
#include "engine/comm/group/autotune.h"

#include <gtest/gtest.h>

#include <set>

#include "engine/comm/algorithms/choice.h"
#include "tests/engine/comm/threads.h"

namespace thalweg::engine::comm {
namespace {

using std::chrono::milliseconds;

constexpr Collective kAll[] = {Collective::allreduce, Collective::reduce_scatter,
                               Collective::allgather, Collective::broadcast,
                               Collective::all_to_all};

class Autotune : public testing::TestWithParam<std::vector<int>> {};

TEST_P(Autotune, AllRanksTakeTheSameTableAndStayRight) {
  std::vector<Autotuned> results(GetParam().size());
  on_machines(GetParam(), {}, [&](Group& group) {
    AutotuneOptions options;
    options.collectives.assign(std::begin(kAll), std::end(kAll));
    options.longest = 64 << 10;
    options.budget = milliseconds(600);
    auto& result = results[static_cast<std::size_t>(group.rank())];
    result = autotune(group, options);
    for (const std::size_t count : {1U, 100U, 5000U, 40000U}) {
      std::vector<std::int64_t> data(count, group.rank() + 1);
      group.allreduce(data.data(), count, Type::i64, Op::sum);
      EXPECT_EQ(group.size() * (group.size() + 1) / 2, data.back());
    }
    for (const Tuned& tuned : result.choices) {
      group.use(tuned.collective, tuned.choice);  // what it says can be said again
    }
  });
  ASSERT_EQ(std::size(kAll), results[0].choices.size());
  EXPECT_FALSE(results[0].timings.empty());
  for (const auto& result : results) {
    EXPECT_EQ(results[0].text(), result.text());
  }
  for (const Timing& timing : results[0].timings) {
    EXPECT_GT(timing.microseconds, 0);
    EXPECT_NE(nullptr, find_row(timing.collective, timing.algorithm));
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, Autotune,
                         testing::Values(std::vector<int>{0, 0, 0}, std::vector<int>{0, 1, 2},
                                         std::vector<int>{0, 0, 1, 1}),
                         [](const auto& given) { return std::to_string(given.index); });

TEST(AutotuneTable, MeasuresEveryAlgorithmThatTheRanksCanDo) {
  on_machines({0, 0, 1}, {}, [](Group& group) {
    AutotuneOptions options;
    options.longest = 64;
    options.budget = std::chrono::minutes(10);  // its end is no matter of time
    std::set<std::string> measured, possible;
    for (const Timing& timing : autotune(group, options).timings) {
      measured.insert(timing.algorithm);
    }
    for (const Row& row : rows_of(Collective::allreduce)) {
      if (group.layout().allows(row.needs)) possible.insert(row.name);
    }
    EXPECT_EQ(possible, measured);
  });
}

TEST(AutotuneTable, WithoutTimeEverythingStaysOnAuto) {
  on_ranks(2, [](Group& group) {
    AutotuneOptions options;
    options.budget = milliseconds(0);
    const auto result = autotune(group, options);
    EXPECT_EQ("auto", result.choices[0].choice);
    EXPECT_TRUE(result.timings.empty());
  });
}

TEST(AutotuneTable, OneRankHasNothingToMeasure) {
  on_ranks(1, [](Group& group) { EXPECT_EQ("allreduce auto", autotune(group).text()); });
}

TEST(AutotuneTable, TextNamesChoiceLengthsAlgorithmsAndTimes) {
  const Autotuned tuned{{{Collective::allreduce, "ring:0-1K"}},
                        {{Collective::allreduce, 64, "ring", 1.25},
                         {Collective::allreduce, 64, "direct", 20},
                         {Collective::allreduce, 256, "ring", 3}}};
  EXPECT_EQ("allreduce ring:0-1K\n64 bytes: ring 1.2 us, direct 20.0 us\n256 bytes: ring 3.0 us",
            tuned.text());
}

}  // namespace
}  // namespace thalweg::engine::comm
