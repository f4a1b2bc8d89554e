// What is said beside the numbers of a sweep.
#include "db/analysis/warnings.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/db/fixture.h"

namespace thalweg::db {
namespace {

using analysis::Warnings;
using analysis::warnings_of;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class WarningsTest : public StoreTest {
 protected:
  WarningsTest() : sweep(store.insert_sweep(sample_sweep())) {}

  Id attempt(std::int64_t trial, std::int64_t number = 1, TrialPhase state = TrialPhase::finished) {
    if (number == 1) {
      TrialRow row = sample_trial(sweep, trial);
      store.insert_trials({row});
      row.state = state;
      store.update_trial(row);
    }
    AttemptRow row = sample_attempt(sweep, trial, number);
    row.launched += static_cast<double>(100 * trial + number);
    store.insert_attempt(row);
    return row.id;
  }
  void report(const Id& id, const std::string& metric, double value = 1) {
    const std::int64_t line = store.attempt(id)->journal_lines + 1;
    ASSERT_TRUE(store.add_points(id, line, line, {{metric, line, value, 1.0}}));
  }
  void note(const Id& id, const json& data) {
    store.append_event({0, 1.0, "note", id, data.dump()});
  }
  void lose(const Id& id, const std::string& why, std::int64_t count, const std::string& text) {
    note(id, {{"level", "warning"}, {"text", text}, {"lost", why}, {"count", count}});
  }
  void ran(const Id& id, const std::string& file, const std::string& hash,
           const std::string& sources = "") {
    json program{{"file", file}, {"hash", hash}};
    if (!sources.empty()) program["sources"] = sources;
    store.put_start(id, json{{"program", program}}.dump());
  }
  Warnings warnings() { return warnings_of(store, sweep, "val/error"); }

  std::int64_t sweep;
};

TEST_F(WarningsTest, ASweepWithAllItsNumbersHasNone) {
  report(attempt(1), "val/error");
  attempt(2, 1, TrialPhase::failed);
  attempt(3, 1, TrialPhase::running);
  note({sweep, 1, 1}, {{"level", "warning"}, {"text", "\"lost\" is only a word here"}});
  ran({sweep, 1, 1}, "/a/train.py", "1");
  EXPECT_THAT(warnings().sentences, IsEmpty());
  EXPECT_THAT(warnings().of_trials, IsEmpty());
}

TEST_F(WarningsTest, TrialsWithoutTheMetricNameWhatTheyReported) {
  report(attempt(1), "val/error", std::nan(""));  // a value, if a bad one
  report(attempt(2), "val/error ");
  report({sweep, 2, 1}, "perf/checkpoint_ms");
  report(attempt(3), "epoch");
  attempt(4);
  const Warnings found = warnings();
  ASSERT_EQ(found.sentences.size(), 1u);
  EXPECT_EQ(found.sentences[0],
            "3 trials finished without any value of 'val/error': reported were 'epoch', "
            "'val/error ' (did you mean 'val/error '?)");
  EXPECT_EQ(found.of_trials.size(), 3u);
  EXPECT_EQ(found.of_trials.at(4), "never reported val/error");
  EXPECT_THAT(warnings_of(store, sweep, "").sentences, IsEmpty());
}

TEST_F(WarningsTest, TrialsThatReportedNothing) {
  attempt(1);
  EXPECT_THAT(warnings().sentences, ElementsAre("1 trial finished without any value of "
                                                "'val/error': they reported nothing"));
}

TEST_F(WarningsTest, LostNumbersAreCountedOverAttemptsAndTrials) {
  for (std::int64_t trial = 1; trial <= 3; ++trial)
    report(attempt(trial), "val/error");
  const Id second = attempt(3, 2);
  lose({sweep, 1, 1}, "points", 1, "fast");
  lose({sweep, 1, 1}, "points", 2836, "fast");
  lose({sweep, 2, 1}, "reports", 3, "no JSON");
  lose({sweep, 3, 1}, "reports", 1, "other");
  lose(second, "reports", 10, "other");
  lose(second, "a reason of tomorrow", 7, "new");
  const Warnings found = warnings();
  ASSERT_EQ(found.sentences.size(), 3u);
  EXPECT_THAT(found.sentences[0], HasSubstr("1 trial lost 7 numbers; 1.3: new"));
  EXPECT_THAT(found.sentences[1],
              AllOf(HasSubstr("1 trial lost 2,836 points"), HasSubstr("; 1.1: fast")));
  EXPECT_EQ(found.sentences[2], "2 trials lost 14 reports, which could not be read; 1.2: no JSON");
  EXPECT_EQ(found.of_trials.at(1), "2,836 points thinned out");
  EXPECT_THAT(found.of_trials.at(3), HasSubstr("11 reports not read"));
}

TEST_F(WarningsTest, AProgramThatWasEditedIsTold) {
  for (std::int64_t trial = 1; trial <= 6; ++trial) {
    report(attempt(trial), "val/error");
    ran({sweep, trial, 1}, "/a/train.py", trial <= 3 ? "1" : trial <= 5 ? "2" : "1");
  }
  const Warnings found = warnings();
  ASSERT_EQ(found.sentences.size(), 1u);
  EXPECT_THAT(found.sentences[0],
              HasSubstr("train.py was edited while the sweep ran: 1.1 to 1.3, 1.6 ran one version, "
                        "1.4 to 1.5 ran another"));
  EXPECT_EQ(found.of_trials.size(), 2u);
  EXPECT_EQ(found.of_trials.at(4), "ran an edited train.py");
}

TEST_F(WarningsTest, WhatItImportsCountsToo) {
  for (std::int64_t trial = 1; trial <= 4; ++trial) {
    report(attempt(trial), "val/error");
    ran({sweep, trial, 1}, "/a/train.py", "1", trial <= 3 ? "m1" : "m2");
  }
  const Warnings found = warnings();
  ASSERT_EQ(found.sentences.size(), 1u);
  EXPECT_THAT(found.sentences[0],
              HasSubstr("a source file of train.py was edited while the sweep ran: 1.1 to 1.3 ran "
                        "one version, 1.4 ran another"));
  EXPECT_EQ(found.of_trials.at(4), "ran edited sources");
}

TEST_F(WarningsTest, DifferentProgramsAreNoEdits) {
  for (std::int64_t trial = 1; trial <= 2; ++trial) {
    report(attempt(trial), "val/error");
    ran({sweep, trial, 1}, "/a/" + std::to_string(trial) + ".py", std::to_string(trial));
  }
  EXPECT_THAT(warnings().sentences, IsEmpty());
}

}  // namespace
}  // namespace thalweg::db
