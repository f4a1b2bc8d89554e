// sync.bucket_mib: auto in whole attempts: the curve, what the journal says, and resuming.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/train/checkpoint.h"
#include "tests/engine/train/support.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

using jobspec::List;
using jobspec::Map;
using jobspec::Trial;
using jobspec::Value;

/// 60 steps, of which 36 are measured: its weights make two different plans.
Trial large_trial() {
  Trial trial = tiny_trial();
  trial.train.set("device", "cpu");
  trial.train.set("model.hidden", List{600, 600});
  return trial;
}

Trial tuned_trial() {
  Trial trial = large_trial();
  trial.train.set("sync", Map{{"bucket_mib", "auto"}});
  return trial;
}

/// Notes about buckets.
std::vector<std::string> bucket_notes(const std::filesystem::path& folder) {
  std::vector<std::string> notes;
  for (const Value& line : lines_of(read_journal(folder), "note"))
    if (const std::string& text = line.find("text")->as_string();
        text.find("bucket_mib") != std::string::npos)
      notes.push_back(text);
  return notes;
}

const char* const kMeasured = "sync.bucket_mib: auto is .*; ms per step: 25: [0-9.]+, 2: [0-9.]+";

TEST(TunedBucketsAttempt, KeepsTheCurveAndTellsWhatItHasFound) {
  const test::TempDir fixed, tuned;
  run_to_end(large_trial(), fixed.path(), 1);
  run_to_end(tuned_trial(), tuned.path(), 2);
  EXPECT_EQ(curve({tuned.path()}), curve({fixed.path()}));
  EXPECT_THAT(bucket_notes(tuned.path()), testing::ElementsAre(testing::MatchesRegex(kMeasured)));
  const auto ranks = lines_of(read_journal(tuned.path()), "ranks");
  ASSERT_EQ(ranks.size(), 3u);  // after 20, 40 and 60 steps
  EXPECT_EQ(ranks[0].find("bucket_mib"), nullptr);
  ASSERT_NE(ranks[2].find("bucket_mib"), nullptr);
  EXPECT_THAT(ranks[2].find("bucket_mib")->as_double(), testing::AnyOf(25, 2));
  EXPECT_THAT(ranks[2].find("first_bucket_mib")->as_double(), testing::AnyOf(1, 2));
}

TEST(TunedBucketsAttempt, MeasuresAgainWhereItGoesOn) {
  Trial trial = large_trial();
  const test::TempDir whole, first, second;
  run_to_end(trial, whole.path(), 1);
  trial = tuned_trial();
  trial.train.set("checkpoint", Map{{"every", 16}, {"keep", 100}});
  run_to_end(trial, first.path(), 3);
  keep_only(first.path(), 16);
  trial.resume = {first.path() / "checkpoints"};
  run_to_end(trial, second.path(), 2);
  EXPECT_EQ(read_journal(second.path()).front().find("resumed_step")->as_int(), 16);
  EXPECT_EQ(curve({first.path(), second.path()}), curve({whole.path()}));
  EXPECT_THAT(bucket_notes(second.path()), testing::ElementsAre(testing::MatchesRegex(kMeasured)));

  // Nothing of the choice is in the checkpoint: a run with other buckets may go on from it.
  trial.train.set("sync", Map{{"bucket_mib", 2}});
  const test::TempDir third;
  run_to_end(trial, third.path(), 2);
  EXPECT_EQ(curve({first.path(), third.path()}), curve({whole.path()}));
  EXPECT_TRUE(bucket_notes(third.path()).empty());
}

TEST(TunedBucketsAttempt, MeasuresAgainWhereTheBatchHasGrown) {
  const auto growing = [](Trial trial) {
    trial.train.set("epochs", 7);
    trial.train.set("batch_growth", Map{{"by", "epochs"}, {"at_epochs", List{3}}, {"factor", 2}});
    return trial;
  };
  const test::TempDir fixed, tuned;
  run_to_end(growing(large_trial()), fixed.path(), 1);
  run_to_end(growing(tuned_trial()), tuned.path(), 2);
  EXPECT_EQ(curve({tuned.path()}), curve({fixed.path()}));
  EXPECT_THAT(bucket_notes(tuned.path()), testing::ElementsAre(testing::MatchesRegex(kMeasured),
                                                               testing::MatchesRegex(kMeasured)));
  // Of the sizes found before the batch grew nothing is said once it has grown.
  const auto ranks = lines_of(read_journal(tuned.path()), "ranks");
  ASSERT_EQ(ranks.size(), 7u);
  EXPECT_NE(ranks[2].find("bucket_mib"), nullptr);
  EXPECT_EQ(ranks[3].find("bucket_mib"), nullptr);
  EXPECT_NE(ranks[6].find("bucket_mib"), nullptr);
}

}  // namespace
}  // namespace thalweg::engine
