// Which looks a file means, which trials there are before the first, and at most.
#include "jobspec/seed_looks.h"

#include <gmock/gmock.h>

#include "jobspec/cost.h"
#include "jobspec/search/search.h"
#include "tests/jobspec/support.h"

namespace thalweg::jobspec {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string looks_file(const std::string& seeds, const std::string& more = "") {
  return "program: f\nmethod: grid\nmetric: {name: loss, goal: minimize}\nseeds: " + seeds +
         "\nparameters:\n  a: {values: [1, 2, 3]}\nresources: {time: \"01:00:00\"}\n" + more;
}

Expansion looks_expanded(const std::string& text) {
  return expand(parse_sweep(text, "sweep.yaml", Schema()), Schema());
}

TEST(SeedLooks, TheDefaultHasNoLookBeforeOneThatCanTell) {
  EXPECT_THAT(seed_plan({}, 2).looks, ElementsAre(6, 11, 16));
  // 2 / C(2n, n) <= 0.05 / (3 looks x pairs): n = 6 up to 4 rows, 7 for 5 and 8, 11 for 100.
  EXPECT_THAT(seed_plan({}, 4).looks, ElementsAre(6, 11, 16));
  EXPECT_THAT(seed_plan({}, 5).looks, ElementsAre(7, 12, 17));
  EXPECT_THAT(seed_plan({}, 8).looks, ElementsAre(7, 12, 17));
  EXPECT_THAT(seed_plan({}, 100).looks, ElementsAre(11, 16, 21));
  EXPECT_NEAR(seed_plan({}, 4).level(), 0.05 / 18, 1e-15);
}

TEST(SeedLooks, WhatTheFileSaysHolds) {
  EXPECT_THAT(seed_plan({6, 4, 16}, 3).looks, ElementsAre(6, 10, 14, 16));
  EXPECT_THAT(seed_plan({2, 1, 3}, 100).looks, ElementsAre(2, 3)) << "though neither can tell";
  EXPECT_THAT(seed_plan({8, 0, 0}, 2).looks, ElementsAre(8, 13, 18));
  EXPECT_THAT(seed_plan({0, 0, 30}, 2).looks, ElementsAre(6, 11, 16, 21, 26, 30));
  EXPECT_THAT(seed_plan({0, 10, 0}, 2).looks, ElementsAre(6, 16, 26));
}

TEST(SeedLooks, TheTrialsAreThoseBeforeTheFirst) {
  const Expansion all = looks_expanded(looks_file("auto"));
  ASSERT_TRUE(all.seed_plan);
  EXPECT_EQ(all.seed_plan->rows, 3);
  ASSERT_EQ(all.trials.size(), 18u);
  for (std::size_t i = 0; i < 18; ++i) {
    EXPECT_EQ(all.trials[i].configuration, static_cast<std::int64_t>(i / 6 + 1));
    EXPECT_EQ(all.trials[i].seed, i % 6 + 1);
  }
  EXPECT_FALSE(looks_expanded(looks_file("6")).seed_plan);
}

TEST(SeedLooks, DrawsHaveThemToo) {
  const Expansion all = looks_expanded(
      "program: f\nmethod: random\nrun_cap: 4\nseeds: {start: 3}\neach: [b]\nparameters:\n"
      "  a: {min: 0.0, max: 1.0}\n  b: {values: [x, y]}\n");
  ASSERT_TRUE(all.seed_plan);
  EXPECT_EQ(all.seed_plan->rows, 8);
  EXPECT_EQ(all.trials.size(), 24u);
}

TEST(SeedLooks, TheBoundsCountAllSeeds) {
  const Expansion all = looks_expanded(looks_file("auto"));
  EXPECT_EQ(all.seed_plan->min_trials(), 18);
  EXPECT_EQ(all.seed_plan->max_trials(), 48);
  EXPECT_DOUBLE_EQ(max_node_hours(all), 48);
  EXPECT_THAT(describe_cost(parse_sweep(looks_file("auto"), "f", Schema()), all, {}),
              HasSubstr("at most 48 node-hours (48 trials x 1 node x 01:00:00)"));
  const std::string text = describe(*all.seed_plan);
  EXPECT_THAT(text, HasSubstr("looks after 6, 11 and 16 seeds of each of 3 configurations"));
  EXPECT_THAT(text, HasSubstr("p <= 0.0056 (0.05 over 3 looks and 3 pairs)"));
  EXPECT_THAT(text, HasSubstr("18 to 48 trials"));
  EXPECT_THAT(text, Not(HasSubstr("cannot tell")));
  EXPECT_THAT(describe(*looks_expanded(looks_file("{start: 3, add: 2, cap: 7}")).seed_plan),
              HasSubstr("looks before 6 seeds cannot tell two of them apart"));
  EXPECT_THAT(describe(*looks_expanded(looks_file("{start: 2, add: 1, cap: 4}")).seed_plan),
              HasSubstr("no look can tell two of them apart, which takes 6 seeds"));
}

TEST(SeedLooks, TheSitesBoundCountsAllSeeds) {
  SiteLimits site;
  site.max_trials = 47;
  EXPECT_THROW(parse_sweep(looks_file("auto"), "f", Schema(), site), InputError);
  site.max_trials = 48;
  EXPECT_NO_THROW(parse_sweep(looks_file("auto"), "f", Schema(), site));
}

TEST(SeedLooks, AFileTellsWhetherItHasThem) {
  EXPECT_TRUE(has_seed_looks(read_yaml("seeds: auto", "f")));
  EXPECT_TRUE(has_seed_looks(read_yaml("seeds: {start: 6}", "f")));
  EXPECT_FALSE(has_seed_looks(read_yaml("seeds: 6", "f")));
  EXPECT_FALSE(has_seed_looks(read_yaml("seeds: [1, 2]", "f")));
  EXPECT_FALSE(has_seed_looks(read_yaml("name: x", "f")));
}

}  // namespace
}  // namespace thalweg::jobspec
