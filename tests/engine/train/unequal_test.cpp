// Unequal ranks through the whole engine: the bits of equal ones, whatever the shares.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/comm/group.h"
#include "engine/train/checkpoint.h"
#include "engine/train/options.h"
#include "tests/engine/train/support.h"
#include "tests/support/distance.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

using jobspec::List;
using jobspec::Map;
using jobspec::Trial;
using jobspec::Value;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<int> divided(const std::vector<double>& shares, int shards) {
  return divide_shards(speeds_of(shares, static_cast<int>(shares.size())), shards);
}

TEST(Shares, GiveEachShardToWhoIsDoneFirst) {
  EXPECT_THAT(divided({1, 1, 2, 4}, 8), ElementsAre(0, 1, 2, 4, 8));
  EXPECT_THAT(divided({1, 1, 2, 4}, 16), ElementsAre(0, 2, 4, 8, 16));
  EXPECT_THAT(divided({7, 3, 0}, 10), ElementsAre(0, 7, 10, 10));
  EXPECT_THAT(divided({1, 100}, 3), ElementsAre(0, 0, 3)) << "one that would hold up the others";
  EXPECT_EQ(division_text({0, 1, 2, 4, 8}), "1, 1, 2, 4 of 8 shards");
  // Two threads compute two shards in the time of one.
  EXPECT_THAT(divide_shards({{1, 1}, {1, 2}}, 6), ElementsAre(0, 2, 6));
  EXPECT_THAT(divide_shards({{0.010, 1}, {0.005, 1}}, 3), ElementsAre(0, 1, 3));
}

TEST(Shares, OfEqualRanksDifferByOneAtMost) {
  for (int ranks = 1; ranks <= 6; ++ranks)
    for (int shards = ranks; shards <= 13; ++shards) {
      const auto first = divided(std::vector<double>(static_cast<std::size_t>(ranks), 3), shards);
      for (std::size_t r = 0; r + 1 < first.size(); ++r) {
        EXPECT_GE(first[r + 1] - first[r], shards / ranks);
        EXPECT_LE(first[r + 1] - first[r], (shards + ranks - 1) / ranks);
      }
    }
}

Trial with_shares(const List& shares) {
  Trial trial = tiny_trial();
  trial.train.set("batch", Map{{"global", 24}, {"shards", 8}, {"shares", shares}});
  return trial;
}

TEST(SharesAttempt, HasTheBitsOfEqualRanksAcrossResumes) {
  Trial equal = tiny_trial();
  equal.train.set("batch", Map{{"global", 24}, {"shards", 8}});
  const test::TempDir whole;
  run_to_end(equal, whole.path(), 1);
  const auto expected = curve({whole.path()});
  for (const List& later : {List{3, 1}, List{0, 5}}) {
    Trial trial = with_shares({1, 1, 2, 4});
    trial.train.set("checkpoint", Map{{"every", 8}, {"keep", 100}});
    const test::TempDir first, second;
    run_to_end(trial, first.path(), 4);
    EXPECT_EQ(curve({first.path()}), expected);
    keep_only(first.path(), 32);
    trial = with_shares(later);
    trial.resume = {first.path() / "checkpoints"};
    run_to_end(trial, second.path(), 2);
    EXPECT_EQ(curve({first.path(), second.path()}), expected);
  }
}

// Any speeds that a busy machine shows give the same curve; only the division is another.
TEST(SharesAttempt, MeasuredOnesHaveTheSameBits) {
  Trial equal = tiny_trial();
  equal.train.set("batch", Map{{"global", 24}, {"shards", 8}});
  const test::TempDir whole, measured;
  run_to_end(equal, whole.path(), 1);
  equal.train.set("batch", Map{{"global", 24}, {"shards", 8}, {"measure_shares", true}});
  equal.train.set("emulate", Map{{"slowdown", List{1000, 1}}});
  equal.train.set("epochs", 1);
  run_to_end(equal, measured.path(), 2);
  Trial once = tiny_trial();
  once.train.set("batch", Map{{"global", 24}, {"shards", 8}});
  once.train.set("epochs", 1);
  const test::TempDir plain;
  run_to_end(once, plain.path(), 1);
  EXPECT_EQ(curve({measured.path()}), curve({plain.path()}));
  std::string told;
  for (const Value& note : lines_of(read_journal(measured.path()), "note"))
    told += note.find("text")->as_string() + "\n";
  EXPECT_THAT(told, HasSubstr("unequal ranks: they have 0, 8 of 8 shards"));
}

/// Parameters after one step of SGD on a batch of 10.
std::vector<float> after_a_step(const Map& batch, int ranks) {
  Trial trial = tiny_trial();
  trial.train.set("model", Map{{"name", "mlp"}, {"hidden", List{12}}});
  std::erase_if(trial.train.as_map(), [](const auto& entry) { return entry.first == "epochs"; });
  trial.train.set("steps", 1);
  trial.train.set("batch", batch);
  trial.train.set("optimizer", Map{{"name", "sgd"}, {"lr", 1}});
  const test::TempDir folder;
  run_to_end(trial, folder.path(), ranks);
  return read_checkpoint(folder.path() / "checkpoints" / checkpoint_name(1)).parameters;
}

// HetSeq (Ding et al., arXiv:2009.14783): the mean over samples, however they lie on the ranks.
TEST(SharesAttempt, BatchesOfSevenThreeAndNoneAreOneOfTen) {
  const std::vector<float> one = after_a_step(Map{{"global", 10}, {"shards", 1}}, 1);
  const std::vector<float> three =
      after_a_step(Map{{"global", 10}, {"shards", 10}, {"shares", List{7, 3, 0}}}, 3);
  ASSERT_EQ(one.size(), three.size());
  for (std::size_t i = 0; i < one.size(); ++i)
    thalweg::test::expect_near(three[i], one[i], 1e-6f, i);
  EXPECT_EQ(three, after_a_step(Map{{"global", 10}, {"shards", 10}}, 2)) << "bitwise";
}

std::string complaint(const Map& batch, int ranks) {
  Trial trial = tiny_trial();
  trial.train.set("batch", batch);
  const test::TempDir folder;
  const StopFlag never;
  const auto ends = run_ranks(trial, folder.path(), ranks, never);
  EXPECT_TRUE(ends[0].threw);
  EXPECT_EQ(ends[0].failure.code, ExitCode::bad_input);
  return ends[0].failure.reason;
}

TEST(SharesAttempt, WhatAreNoSharesIsRefused) {
  EXPECT_THAT(complaint(Map{{"global", 24}, {"shares", List{1, 2, 3}}}, 2),
              HasSubstr("batch.shares: 3 shares for 2 ranks; give one for each rank"));
  EXPECT_THAT(complaint(Map{{"global", 24}, {"shares", List{1, -2}}}, 2), HasSubstr("at least 0"));
  EXPECT_THAT(complaint(Map{{"global", 24}, {"shares", List{0, 0}}}, 2), HasSubstr("all are 0"));
  EXPECT_THAT(complaint(Map{{"global", 24}, {"shares", List{1, 2}}, {"measure_shares", true}}, 2),
              HasSubstr("keep one of them"));
}

}  // namespace
}  // namespace thalweg::engine
