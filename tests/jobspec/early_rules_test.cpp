// The rules of early_terminate: what each row of the table must do, and what the median rule ends.
// Hyperband's numbers are in tests/daemon/hyperband_test.cpp.
#include "jobspec/early/rule.h"

#include <gmock/gmock.h>

#include <limits>

#include "tests/jobspec/support.h"

namespace thalweg::jobspec {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

EarlyTerminate rule_in(const std::string& block) {
  return *parse_sweep(
              "program: f\nmethod: random\nrun_cap: 4\nmetric: {name: loss}\n"
              "parameters: {lr: {min: 0.1, max: 0.2}}\nearly_terminate: " +
                  block,
              "f.yaml", Schema())
              .early_terminate;
}

std::vector<std::int64_t> numbers(const EarlyTerminate& rule, const TrialHistories& trials,
                                  Goal goal = Goal::minimize) {
  Metric metric;
  metric.name = "loss";
  metric.goal = goal;
  std::vector<std::int64_t> found;
  for (const auto& [trial, reason] : ended_early(rule, metric, trials)) {
    EXPECT_TRUE(reason.starts_with(early_end_reason)) << reason;
    found.push_back(trial);
  }
  return found;
}

TEST(EarlyRules, AreToldInTheDocumentsAndJudgeOnlyRunningTrials) {
  const std::string file = read_file(source_dir() / "jobspec/sweep-file.md");
  const std::string manual = read_file(source_dir() / "packaging/man/thalweg-sweep.5");
  for (const EarlyRule& row : early_rules()) {
    const std::string block = "{type: " + std::string(row.name) + ", min_iter: 2}";
    EXPECT_THAT(file, HasSubstr("`early_terminate: " + block.substr(0, block.find(',')))) << block;
    EXPECT_THAT(manual, HasSubstr("type: " + std::string(row.name)));
    const EarlyTerminate rule = rule_in(block);
    EXPECT_EQ(&rule_of(rule), &row);
    EXPECT_THAT(describe(rule, "loss"), HasSubstr("loss"));
    TrialHistories trials;
    for (int i = 1; i <= 9; ++i)
      trials[i] = TrialHistory(std::vector<double>(6, i), false);
    EXPECT_THAT(numbers(rule, trials), IsEmpty());
    trials[9].running = true;
    EXPECT_THAT(numbers(rule, trials), ElementsAre(9));
    trials[9] = TrialHistory({9}, true);
    EXPECT_THAT(numbers(rule, trials), IsEmpty()) << "it has not got to min_iter";
    EXPECT_THAT(numbers(rule, {{1, TrialHistory({1, 1, 1}, true)}}), IsEmpty());
  }
}

/// By hand: after three values the means of the ended ones are 2, 3 and 4, whose median is 3.
TEST(MedianRule, ComparesTheBestValueWithTheMedianOfMeans) {
  EarlyTerminate rule = rule_in("{type: median, min_iter: 3, min_trials: 3}");
  TrialHistories trials{
      {1, TrialHistory({3, 2, 1, 9}, false)}, {2, TrialHistory({5, 3, 1}, false)},
      {3, TrialHistory({4, 4, 4, 0}, false)}, {4, TrialHistory({9, 3.1, 9}, true)},
      {5, TrialHistory({9, 3, 9}, true)},     {6, TrialHistory({9, 9}, true)}};
  EXPECT_THAT(numbers(rule, trials), ElementsAre(4)) << "as good as the median goes on";
  EXPECT_THAT(ended_early(rule, {}, trials).at(4),
              HasSubstr("3.1 at best after 3 values, the median of the means of 3 trials is 3"));
  EXPECT_THAT(numbers(rule, trials, Goal::maximize), IsEmpty());
  trials[2].running = true;
  EXPECT_THAT(numbers(rule, trials), IsEmpty()) << "two have ended";
  rule.min_trials = 2;
  EXPECT_THAT(numbers(rule, trials), ElementsAre(4)) << "between 2 and 4 the median is 3";
  const double nan = std::numeric_limits<double>::quiet_NaN();
  trials[6] = TrialHistory({nan, nan, nan}, true);
  EXPECT_THAT(numbers(rule, trials), ElementsAre(4, 6));
  trials[1] = TrialHistory({3, nan, 1}, false);
  EXPECT_THAT(numbers(rule, trials), IsEmpty()) << "the median is between 4 and the worst";
}

TEST(MedianRule, ForgetsWhatIsCutOff) {
  TrialHistory history({1, 2, 6}, false);
  EXPECT_EQ(history.mean(3), 3);
  history.cut(2);
  history.add(2, 5);
  EXPECT_EQ(history.mean(2), 3);
}

TEST(MedianRule, RefusesWhatIsOfAnotherRule) {
  const auto mistakes = [](const std::string& block) {
    return diagnostics("program: f\nmetric: {name: loss}\nearly_terminate: " + block);
  };
  EXPECT_THAT(mistakes("{type: median, min_iter: 4}"), IsEmpty());
  EXPECT_THAT(mistakes("{type: median}"), testing::SizeIs(1));
  EXPECT_THAT(mistakes("{type: median, min_iter: 4, eta: 3}"), testing::SizeIs(1));
  EXPECT_THAT(mistakes("{type: hyperband, min_iter: 4, min_trials: 3}"), testing::SizeIs(1));
}

}  // namespace
}  // namespace thalweg::jobspec
