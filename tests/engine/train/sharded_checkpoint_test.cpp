// Checkpoints that every rank writes its part of, through the whole engine: sync.shard_optimizer,
// and modes whose ranks remember things of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "engine/train/checkpoint_slice.h"
#include "engine/train/export.h"
#include "tests/engine/train/support.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

namespace fs = std::filesystem;
using jobspec::Map;
using jobspec::Trial;
using jobspec::Value;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Trial of_optimizer(const char* name, const char* device = "reference") {
  Trial trial = tiny_trial();
  trial.train.set("device", device);
  trial.train.set("optimizer", Map{{"name", name}, {"lr", 0.01}});
  trial.train.set("checkpoint", Map{{"every", 8}, {"keep", 100}});
  return trial;
}

Trial sharded(Trial trial) {
  trial.train.set("sync", Map{{"shard_optimizer", true}, {"compare_every", 4}});
  return trial;
}

Trial resumed(Trial trial, const fs::path& from) {
  trial.resume = {from / "checkpoints"};
  return trial;
}

std::vector<std::string> files_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder / "checkpoints"))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// Names of a checkpoint's files.
std::vector<std::string> set_of(std::int64_t step, int ranks) {
  std::vector<std::string> names{checkpoint_name(step)};
  for (int rank = 0; rank < ranks; ++rank)
    names.push_back(slice_name(step, rank, ranks));
  return names;
}

/// What the journal says of checkpoints.
std::vector<std::string> notes_of(const fs::path& folder) {
  std::vector<std::string> texts;
  for (const Value& note : lines_of(read_journal(folder), "note"))
    if (const std::string text = note.find("text")->as_string();
        text.find("checkpoint") != std::string::npos)
      texts.push_back(text);
  return texts;
}

std::int64_t resumed_step(const fs::path& folder) {
  return read_journal(folder).front().find("resumed_step")->as_int();
}

TEST(ShardedCheckpoint, ResumesBitwiseOnAnyRanksWithShardsAndWithout) {
  const struct {
    int before, after;
    bool shards_before, shards_after;
  } ways[] = {{2, 2, true, true},  {2, 3, true, true},  {3, 1, true, true}, {1, 2, true, true},
              {3, 2, true, false}, {2, 3, false, true}, {1, 1, true, false}};
  for (const auto& [name, device] :
       {std::pair{"adamw", "reference"}, std::pair{"adamw", "cpu"}, std::pair{"momentum", "cpu"},
        std::pair{"lion", "reference"}}) {
    const Trial trial = of_optimizer(name, device);
    const test::TempDir whole;
    run_to_end(trial, whole.path(), 1);
    const auto expected = curve({whole.path()});
    const fs::path last = fs::path("checkpoints") / checkpoint_name(60);
    const Checkpoint end = read_checkpoint(whole.path() / last);
    for (const auto& way : ways) {
      const test::TempDir first, second;
      run_to_end(way.shards_before ? sharded(trial) : trial, first.path(), way.before);
      EXPECT_EQ(curve({first.path()}), expected);
      keep_only(first.path(), 32);
      const bool sliced = way.shards_before && way.before > 1;
      EXPECT_EQ(files_in(first.path()), set_of(32, sliced ? way.before : 0));
      run_to_end(resumed(way.shards_after ? sharded(trial) : trial, first.path()), second.path(),
                 way.after);
      EXPECT_EQ(resumed_step(second.path()), 32);
      EXPECT_THAT(notes_of(second.path()), IsEmpty());
      EXPECT_EQ(curve({first.path(), second.path()}), expected)
          << name << " on " << device << ", " << way.before << " to " << way.after;
      EXPECT_EQ(read_checkpoint(second.path() / last).states, end.states);
    }
  }
}

// What earlier versions wrote is one file, whatever the ranks had.
TEST(ShardedCheckpoint, TheFormOfOneFileGoesOn) {
  const Trial trial = sharded(of_optimizer("adamw"));
  Trial compressed = of_optimizer("adamw");
  compressed.train.set("sync", Map{{"compress", "top-k"}, {"compress_start", 5}});
  for (const Trial& each : {trial, compressed}) {
    const test::TempDir whole, first, second;
    run_to_end(each, whole.path(), 2);
    run_to_end(each, first.path(), 2);
    keep_only(first.path(), 32);
    const fs::path file = first.path() / "checkpoints" / checkpoint_name(32);
    write_checkpoint(file, read_checkpoint(file));
    for (const char* rank : {"0000", "0001"})
      ASSERT_TRUE(fs::remove(file.parent_path() /
                             ("step-000000000032.rank-" + std::string(rank) + "-of-0002.ckpt")));
    run_to_end(resumed(each, first.path()), second.path(), 2);
    EXPECT_EQ(curve({first.path(), second.path()}), curve({whole.path()}));
  }
}

TEST(ShardedCheckpoint, NobodyWritesTheWholeStateAndTheJournalCountsAllFiles) {
  Trial trial = of_optimizer("adamw");
  trial.train.set("model.hidden", jobspec::List{256});
  trial.train.set("steps", 8);
  trial.train.set("epochs", Value());
  std::erase_if(trial.train.as_map(), [](const auto& entry) { return entry.first == "epochs"; });
  const test::TempDir whole, parts;
  run_to_end(trial, whole.path(), 4);
  run_to_end(sharded(trial), parts.path(), 4);
  const auto size = [](const fs::path& folder, const fs::path& name) {
    return static_cast<std::int64_t>(fs::file_size(folder / "checkpoints" / name));
  };
  const auto count = static_cast<std::int64_t>(
      read_checkpoint(whole.path() / "checkpoints" / checkpoint_name(8)).parameters.size());
  ASSERT_GT(count, 2000);
  const std::int64_t states = 2 * 4 * count, slack = 1024;  // two states; headers, padding
  std::int64_t sum = size(parts.path(), checkpoint_name(8));
  EXPECT_NEAR(static_cast<double>(size(whole.path(), checkpoint_name(8)) - sum),
              static_cast<double>(states), static_cast<double>(slack));
  for (int rank = 0; rank < 4; ++rank) {
    const std::int64_t mine = size(parts.path(), slice_name(8, rank, 4));
    EXPECT_LE(mine, states / 4 + slack);
    sum += mine;
  }
  const auto lines = lines_of(read_journal(parts.path()), "checkpoint");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].find("bytes")->as_int(), sum);
}

TEST(ShardedCheckpoint, ADamagedOrMissingPartMeansTheOneBefore) {
  Trial trial = sharded(of_optimizer("adamw"));
  trial.train.set("checkpoint", Map{{"every", 20}});
  const test::TempDir whole;
  run_to_end(trial, whole.path(), 2);
  const auto expected = curve({whole.path()});
  const fs::path part = slice_name(60, 1, 2);
  const std::string bytes = test::read_file(whole.path() / "checkpoints" / part);
  std::string flipped = bytes;
  flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 1);
  for (const std::optional<std::string>& damage :
       {std::optional<std::string>(), std::optional(bytes.substr(0, bytes.size() - 8)),
        std::optional(flipped)}) {
    const test::TempDir first, second;
    fs::copy(whole.path(), first.path(), fs::copy_options::recursive);
    const fs::path file = first.path() / "checkpoints" / part;
    fs::remove(file);
    if (damage) test::write_file(file, *damage);
    run_to_end(resumed(trial, first.path()), second.path(), 3);
    EXPECT_EQ(resumed_step(second.path()), 40);
    EXPECT_THAT(notes_of(second.path()),
                ElementsAre(AllOf(HasSubstr("passed over"), HasSubstr(part.string()))));
    EXPECT_EQ(curve({first.path(), second.path()}), expected);
  }
}

// As a kill between the parts and the main file leaves it.
TEST(ShardedCheckpoint, WithoutItsMainFileIsNoneAndGoesWithTheNext) {
  Trial trial = sharded(of_optimizer("adamw"));
  trial.train.set("checkpoint", Map{{"every", 20}});
  const test::TempDir whole, again;
  run_to_end(trial, whole.path(), 2);
  EXPECT_THAT(files_in(whole.path()), testing::UnorderedElementsAreArray([] {
                auto both = set_of(40, 2);
                for (const std::string& name : set_of(60, 2))
                  both.push_back(name);
                return both;
              }()))
      << "nothing of step 20";
  fs::copy(whole.path() / "checkpoints", again.path() / "checkpoints");
  fs::remove(again.path() / "checkpoints" / checkpoint_name(40));
  fs::remove(again.path() / "checkpoints" / checkpoint_name(60));
  for (int rank = 0; rank < 2; ++rank)
    fs::rename(again.path() / "checkpoints" / slice_name(60, rank, 2),
               again.path() / "checkpoints" / slice_name(30, rank, 2));
  run_to_end(trial, again.path(), 3);
  EXPECT_THAT(notes_of(again.path()), IsEmpty());
  EXPECT_EQ(curve({again.path()}), curve({whole.path()}));
  EXPECT_THAT(files_in(again.path()), Each(testing::Not(HasSubstr("000030"))));
  EXPECT_EQ(read_checkpoint(again.path() / "checkpoints" / checkpoint_name(40)).states.size(), 2u);
}

/// A folder where a file would be written: a disk that takes nothing.
void block(const fs::path& folder, const fs::path& name) {
  fs::create_directories(folder / "checkpoints" / (name.string() + ".new") / "full");
}

TEST(ShardedCheckpoint, ThatARankCannotWriteEndsTheRunAndAllSayWhich) {
  Trial trial = sharded(of_optimizer("adamw"));
  trial.train.set("checkpoint", Map{{"every", 20}});
  const test::TempDir whole, first, second;
  run_to_end(trial, whole.path(), 2);
  block(first.path(), slice_name(40, 1, 2));
  for (const RankEnd& end : run_ranks(trial, first.path(), 2, StopFlag())) {
    EXPECT_TRUE(end.threw);
    EXPECT_EQ(end.failure.code, ExitCode::failed);
    EXPECT_EQ(end.failure.rank, 1);
    EXPECT_THAT(end.failure.reason, AllOf(HasSubstr("rank 1 on "),
                                          HasSubstr("could not write its part of the checkpoint"),
                                          HasSubstr(slice_name(40, 1, 2).string())));
  }
  EXPECT_THAT(read_journal(first.path()).back().find("reason")->as_string(),
              HasSubstr(slice_name(40, 1, 2).string()));
  std::vector<std::string> left = set_of(20, 2);
  left.push_back(slice_name(40, 1, 2).string() + ".new");
  EXPECT_THAT(files_in(first.path()), testing::UnorderedElementsAreArray(left));
  run_to_end(resumed(trial, first.path()), second.path(), 2);
  EXPECT_EQ(resumed_step(second.path()), 20);
  EXPECT_EQ(curve({first.path(), second.path()}), curve({whole.path()}));
}

TEST(ShardedCheckpoint, WhoseMainFileCannotBeWrittenLeavesNoParts) {
  Trial trial = sharded(of_optimizer("adamw"));
  trial.train.set("checkpoint", Map{{"every", 20}});
  const test::TempDir folder;
  block(folder.path(), checkpoint_name(40));
  const auto ends = run_ranks(trial, folder.path(), 2, StopFlag());
  EXPECT_THAT(ends[0].failure.reason, HasSubstr(checkpoint_name(40).string()));
  std::vector<std::string> left = set_of(20, 2);
  left.push_back(checkpoint_name(40).string() + ".new");
  // Rank 0 hears of it some steps later: the other one may be at its part of the next set by then.
  std::vector<std::string> found = files_in(folder.path());
  std::erase(found, slice_name(60, 1, 2).string());
  EXPECT_THAT(found, testing::UnorderedElementsAreArray(left));
}

/// Steps that are too long: validation is best early on.
Trial overshooting(int every) {
  Trial trial = sharded(of_optimizer("adamw"));
  trial.train.set("optimizer.lr", 0.6);
  trial.train.set("schedule", Map{{"decay", "constant"}});
  trial.train.set("eval", Map{{"every_steps", 3}});
  trial.train.set("checkpoint", Map{{"every", every}, {"keep", 2}, {"best", true}});
  trial.metric.name = "val/loss";
  return trial;
}

TEST(ShardedCheckpoint, TheBestStaysWhole) {
  const test::TempDir folder;
  run_to_end(overshooting(10), folder.path(), 2);
  const std::int64_t best = best_checkpoint({folder.path() / "checkpoints"}).checkpoint->step;
  ASSERT_LT(best, 50);
  std::vector<std::string> expected;
  for (const std::int64_t step : {best, std::int64_t{50}, std::int64_t{60}})
    for (const std::string& name : set_of(step, 2))
      expected.push_back(name);
  EXPECT_EQ(files_in(folder.path()), expected);
}

TEST(ShardedCheckpoint, TheBestIsDoneWithoutWhereARankCannotWriteIt) {
  const Trial trial = overshooting(0);
  const test::TempDir whole, folder;
  run_to_end(trial, whole.path(), 2);
  const std::int64_t step = best_checkpoint({whole.path() / "checkpoints"}).checkpoint->step;
  block(folder.path(), slice_name(step, 1, 2));
  run_to_end(trial, folder.path(), 2);
  EXPECT_EQ(curve({folder.path()}), curve({whole.path()}));
  EXPECT_THAT(notes_of(folder.path()),
              Contains(AllOf(HasSubstr("the best checkpoint, of step " + std::to_string(step) +
                                       ", could not be written, and training continues"),
                             HasSubstr("rank 1 on "))));
  EXPECT_NE(best_checkpoint({folder.path() / "checkpoints"}).checkpoint->step, step);
}

TEST(ShardedCheckpoint, ExportsAndBeginsOtherRuns) {
  const Trial plain = of_optimizer("adamw");
  const test::TempDir whole, parts, next, next_of_whole;
  run_to_end(plain, whole.path(), 1);
  run_to_end(sharded(plain), parts.path(), 3);
  std::vector<std::string> exported;
  for (const auto& [folder, trial] :
       {std::pair(whole.path(), plain), std::pair(parts.path(), sharded(plain))}) {
    jobspec::write_trial(trial, folder / "trial.yaml");
    const fs::path file = folder / "weights.npz";
    EXPECT_THAT(export_trial(folder / "trial.yaml", {}, file), HasSubstr("of step 60"));
    exported.push_back(test::read_file(file));
  }
  EXPECT_EQ(exported[0], exported[1]);
  const auto begun = [&](const fs::path& from, const fs::path& folder) {
    Trial trial = sharded(plain);
    trial.train.set("epochs", 4);
    trial.train.set("init_from", Map{{"file", (from / "checkpoints").string()}, {"state", "all"}});
    run_to_end(trial, folder, 2);
    return curve({folder});
  };
  EXPECT_EQ(begun(parts.path(), next.path()), begun(whole.path(), next_of_whole.path()));
}

// Errors of compression and local states: each rank's are in its own part.
TEST(ShardedCheckpoint, HoldsWhatRanksRememberOfTheirOwn) {
  for (const Map& sync :
       {Map{{"compress", "top-k"}, {"compress_start", 5}}, Map{{"mode", "local"}, {"period", 7}},
        Map{{"compress", "top-k"}, {"compress_start", 5}, {"shard_optimizer", true}}}) {
    Trial trial = of_optimizer("adamw");
    trial.train.set("sync", sync);
    trial.train.set("checkpoint", Map{{"every", 16}, {"keep", 100}});
    const test::TempDir whole, second;
    run_to_end(trial, whole.path(), 2);
    const auto expected = curve({whole.path()});
    keep_only(whole.path(), 48);
    EXPECT_EQ(files_in(whole.path()), set_of(48, 2));
    run_to_end(resumed(trial, whole.path()), second.path(), 2);
    EXPECT_EQ(curve({whole.path(), second.path()}), expected);
  }
}

}  // namespace
}  // namespace thalweg::engine
