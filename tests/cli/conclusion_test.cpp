// The sentence that opens a report claims what the verdicts do, and no more.
#include "cli/commands/conclusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace thalweg::cli {
namespace {

using daemon::api::ComparisonMessage;
using daemon::api::ComparisonRowMessage;
using testing::HasSubstr;
using testing::Not;

ComparisonRowMessage row(const char* name, int n, const char* verdict, double p = -1) {
  ComparisonRowMessage row;
  row.group = {{"optimizer.name", name}};
  row.n = n;
  row.verdict = verdict;
  row.best.median = 0.09;
  row.steps_to_target.median = 192;
  if (p >= 0) row.p = p;
  return row;
}

ComparisonMessage comparison(std::vector<ComparisonRowMessage> rows) {
  ComparisonMessage message;
  message.metric = "val/error";
  message.target = 0.14;
  message.by = {"optimizer.name"};
  message.unit = "seed";
  message.rows = std::move(rows);
  return message;
}

TEST(Conclusion, SaysWhatIsProven) {
  EXPECT_EQ(
      conclusion(comparison({row("muon", 6, "best"), row("adamw", 6, "worse (p=0.022)", 0.022),
                             row("sgd", 6, "worse (p=0.01)", 0.01)})),
      "muon comes first: it reaches val/error 0.14 after 192 steps (median of 6 seeds). All 2 "
      "other rows are proven worse (p <= 0.022).");
}

TEST(Conclusion, SaysWhatIsNot) {
  EXPECT_THAT(conclusion(comparison({row("a", 6, "best"), row("b", 6, "worse (p=0.02)", 0.02),
                                     row("c", 6, "no clear difference (p=0.4)", 0.4)})),
              HasSubstr("1 of 2 other rows are proven worse (p <= 0.02); others show no clear"));
  EXPECT_THAT(
      conclusion(comparison({row("a", 6, "best"), row("c", 6, "no clear difference (p=1)", 1)})),
      HasSubstr("No other row differs from it clearly: this may be chance."));
  EXPECT_THAT(conclusion(comparison({row("a", 2, "best"), row("c", 2, "2 seeds, 5 needed")})),
              HasSubstr("That proves nothing: 2 seeds, 5 needed."));
  EXPECT_THAT(conclusion(comparison({row("a", 1, "best")})),
              HasSubstr("(one seed). There is no other row"));
  EXPECT_EQ(conclusion(comparison({})), "No trial has reported val/error yet.");
  ComparisonMessage without = comparison({row("a", 3, "best"), row("b", 3, "not tested")});
  without.target.reset();
  EXPECT_THAT(conclusion(without),
              HasSubstr("a comes first, with a val/error of 0.09 (median of 3"));
  without.by = {"lr"};
  without.rows.front().group = {{"lr", 0.3}};
  EXPECT_THAT(conclusion(without), HasSubstr("lr 0.3 comes first"))
      << "a number says nothing alone";
}

// Whatever the rows are: "proven" stands only where a verdict says worse, and p is never smaller
// than that of any row it speaks of.
TEST(Conclusion, ClaimsNoMoreThanTheVerdicts) {
  const char* const verdicts[] = {"worse (p=0.03)", "no clear difference (p=0.5)",
                                  "2 seeds, 5 needed", "no data", "different draws: not tested"};
  std::mt19937 random(1);
  const auto below = [&](unsigned n) { return random() % n; };
  for (int i = 0; i < 2000; ++i) {
    std::vector<ComparisonRowMessage> rows{row("first", 6, "best")};
    bool worse = false;
    for (auto left = below(5); left > 0; --left) {
      const auto kind = below(5);
      rows.push_back(row("other", kind == 3 ? 0 : 6, verdicts[kind], kind == 0 ? 0.03 : -1));
      worse = worse || kind == 0;
    }
    const std::string said = conclusion(comparison(rows));
    if (worse)
      EXPECT_THAT(said, HasSubstr("proven worse (p <= 0.03)")) << i;
    else
      EXPECT_THAT(said, Not(HasSubstr("proven worse"))) << i;
  }
}

}  // namespace
}  // namespace thalweg::cli
