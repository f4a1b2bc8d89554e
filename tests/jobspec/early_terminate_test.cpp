// Bands of early_terminate as W&B's sweep controller places them, and what a file may say.
#include "jobspec/early_terminate.h"

#include <gmock/gmock.h>

#include "tests/jobspec/support.h"

namespace thalweg::jobspec {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

EarlyTerminate from_max(std::int64_t max_iter, double s, double eta) {
  EarlyTerminate rule;
  rule.max_iter = max_iter;
  rule.s = s;
  rule.eta = eta;
  return rule;
}

EarlyTerminate from_min(std::int64_t min_iter, double eta) {
  EarlyTerminate rule;
  rule.min_iter = min_iter;
  rule.eta = eta;
  return rule;
}

/// By hand from github.com/wandb/sweeps, hyperband_stopping.py.
TEST(EarlyTerminate, BandsAreWandbs) {
  EXPECT_THAT(from_max(27, 2, 3).bands(1000), ElementsAre(3, 9));
  EXPECT_THAT(from_max(5, 2, 2).bands(1000), ElementsAre(1, 2)) << "2.5 is cut";
  EXPECT_THAT(from_max(18, 5, 3).bands(1000), ElementsAre(2, 6)) << "below 1 there is none";
  EXPECT_THAT(from_max(100, 3, 2.5).bands(1000), ElementsAre(6, 16, 40));
  EXPECT_THAT(from_min(3, 3).bands(100), ElementsAre(3, 9, 27, 81));
  EXPECT_THAT(from_min(1, 1.5).bands(8), ElementsAre(1, 2, 3, 5, 7)) << "1.5 is 1 once more";
  EXPECT_THAT(from_min(10, 3).bands(9), IsEmpty());
}

std::optional<EarlyTerminate> parsed(const std::string& block) {
  return parse_sweep(
             "program: train.py\nmethod: random\nrun_cap: 4\nmetric: {name: loss}\n"
             "parameters: {lr: {min: 0.1, max: 0.2}}\n" +
                 block,
             "f.yaml", Schema())
      .early_terminate;
}

TEST(EarlyTerminate, IsReadWithWandbsDefaults) {
  EXPECT_FALSE(parsed(""));
  const auto rule = parsed("early_terminate: {type: hyperband, min_iter: 3}\n");
  ASSERT_TRUE(rule);
  EXPECT_EQ(rule->eta, 3);
  EXPECT_FALSE(rule->strict) << "as W&B's documentation has it";
  EXPECT_EQ(*rule, from_min(3, 3));
  auto other =
      parsed("early_terminate: {type: hyperband, max_iter: 27, s: 2, eta: 2, strict: true}\n");
  EXPECT_TRUE(other->strict);
  EXPECT_THAT(other->bands(100), ElementsAre(6, 13));
  EXPECT_THAT(
      parsed("early_terminate: {type: hyperband, min_iter: 4, max_iter: 27, s: 1}\n")->bands(100),
      ElementsAre(9))
      << "max_iter counts where both are there";
}

/// The note says of which the bands are.
TEST(EarlyTerminate, SaysWhichOfTwoCounts) {
  const auto notes = [](const std::string& more) {
    const Sweep sweep = parse_sweep(
        "program: train.py\nmethod: random\nrun_cap: 4\nmetric: {name: loss}\n"
        "parameters: {lr: {min: 0.1, max: 0.2}}\n"
        "early_terminate: {type: hyperband, min_iter: 4, max_iter: 27" +
            more + "}\n",
        "f.yaml", Schema());
    std::string all;
    for (const std::string& note : sweep.notes)
      all += note + "\n";
    return all;
  };
  EXPECT_THAT(notes(""),
              HasSubstr("f.yaml:6: early_terminate: min_iter says where bands are; max_iter does "
                        "not count without s"));
  EXPECT_THAT(notes(""), HasSubstr("after 4, 12, 36, 108, ... values"));
  EXPECT_THAT(notes(", s: 2"), HasSubstr("f.yaml:6: early_terminate: max_iter and s say where"));
  EXPECT_THAT(notes(", s: 2"), HasSubstr("after 3, 9 values"));
}

/// Of all methods but bayes, whose configurations are known one after the other.
TEST(EarlyTerminate, DrawsTheOrderOfStarts) {
  const auto sweep = [](const std::string& method, const std::string& rule) {
    return parse_sweep("program: train.py\nmetric: {name: loss}\nseed: 7\nmethod: " + method +
                           "\nparameters: {lr: {values: [0.1, 0.2]}}\n" + rule,
                       "f.yaml", Schema());
  };
  const std::string rule = "early_terminate: {type: hyperband, min_iter: 4}\n";
  const std::string said = "in an order that is drawn from `seed`";
  EXPECT_EQ(start_order(sweep("grid", rule)), 7u);
  EXPECT_EQ(start_order(sweep("random", rule)), 7u);
  EXPECT_EQ(start_order(sweep("bayes", rule)), std::nullopt);
  EXPECT_EQ(start_order(sweep("grid", "")), std::nullopt);
  EXPECT_THAT(sweep("grid", rule).notes, Contains(HasSubstr(said)));
  EXPECT_THAT(sweep("bayes", rule).notes, Not(Contains(HasSubstr(said))));
}

}  // namespace
}  // namespace thalweg::jobspec
