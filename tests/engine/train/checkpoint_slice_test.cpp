// Sets of files: a checkpoint and what each rank wrote of it.
#include "engine/train/checkpoint_slice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/engine/train/support.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

using jobspec::Map;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Checkpoint common(std::int64_t step) {
  Checkpoint c;
  c.step = step;
  c.shards = 4;
  c.identity = Map{{"seed", "1"}};
  c.parameters = {1, 2, 3, 4, 5, 6, 7};
  c.parts = {{"account", {}, {{3, 4}}}, {"error", {}, {}, true}, {"mean", {}, {}, true}};
  c.sliced_states = 2;
  return c;
}

/// Seven parameters on three ranks, of which the last has none; the first one's are interleaved
/// with the second's.
std::vector<CheckpointSlice> slices(std::int64_t step) {
  const auto parts = [](float n) {
    return std::vector<CheckpointPart>{{"error", {{n, n}}, {}}, {"mean", {}, {{n, n, n}}}};
  };
  return {{step, 0, 3, {{0, 2}, {4, 1}}, {{10, 11, 14}, {20, 21, 24}}, parts(1)},
          {step, 1, 3, {{2, 2}, {5, 2}}, {{12, 13, 15, 16}, {22, 23, 25, 26}}, parts(2)},
          {step, 2, 3, {}, {{}, {}}, parts(3)}};
}

std::filesystem::path write_set(const std::filesystem::path& folder, std::int64_t step,
                                const std::vector<CheckpointSlice>& of_ranks) {
  Checkpoint c = common(step);
  for (const CheckpointSlice& slice : of_ranks)
    c.slices.push_back(write_slice(folder, slice));
  write_checkpoint(folder / checkpoint_name(step), c);
  return folder / checkpoint_name(step);
}

std::filesystem::path write_set(const std::filesystem::path& folder, std::int64_t step) {
  return write_set(folder, step, slices(step));
}

std::vector<std::string> files_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

TEST(CheckpointSlices, AreReadAsIfOneFileHeldThem) {
  const test::TempDir folder;
  const Checkpoint c = read_checkpoint(write_set(folder.path(), 17));
  EXPECT_EQ(c.parameters, common(17).parameters);
  EXPECT_THAT(c.states, ElementsAre(ElementsAre(10, 11, 12, 13, 14, 15, 16),
                                    ElementsAre(20, 21, 22, 23, 24, 25, 26)));
  ASSERT_EQ(c.parts.size(), 3u);
  EXPECT_THAT(c.parts[0].doubles, ElementsAre(ElementsAre(3, 4)));
  EXPECT_THAT(c.parts[1].floats,
              ElementsAre(ElementsAre(1, 1), ElementsAre(2, 2), ElementsAre(3, 3)));
  EXPECT_THAT(c.parts[2].doubles,
              ElementsAre(ElementsAre(1, 1, 1), ElementsAre(2, 2, 2), ElementsAre(3, 3, 3)));
  // As one file of format 2, which earlier versions read and wrote.
  const auto alone = folder.path() / "alone.ckpt";
  write_checkpoint(alone, c);
  EXPECT_EQ(test::read_file(alone)[8], 2);
  const Checkpoint again = read_checkpoint(alone);
  EXPECT_EQ(again.states, c.states);
  EXPECT_EQ(again.parts[1].floats, c.parts[1].floats);
}

TEST(CheckpointSlices, EachCutAndFlippedByteMakesTheSetInvalidAndNamesTheFile) {
  const test::TempDir folder;
  const auto older = write_set(folder.path(), 10), newer = write_set(folder.path(), 20);
  for (int rank = 0; rank < 3; ++rank) {
    const auto name = slice_name(20, rank, 3);
    EXPECT_EQ(name, "step-000000000020.rank-000" + std::to_string(rank) + "-of-0003.ckpt");
    const std::string whole = test::read_file(folder.path() / name);
    for (std::size_t i = 0; i < whole.size(); ++i) {
      test::write_file(folder.path() / name, whole.substr(0, i));
      EXPECT_THAT(complaint(newer), HasSubstr(name.string())) << i;
      std::string flipped = whole;
      flipped[i] = static_cast<char>(flipped[i] ^ 0x10);
      test::write_file(folder.path() / name, flipped);
      EXPECT_THAT(complaint(newer), HasSubstr(name.string())) << i;
    }
    std::filesystem::remove(folder.path() / name);
    EXPECT_THAT(complaint(newer), HasSubstr(name.string()));
    const FoundCheckpoint found = newest_checkpoint({folder.path()});
    EXPECT_EQ(found.file, older);
    EXPECT_THAT(found.rejected, ElementsAre(AllOf(HasSubstr(name.string()), HasSubstr("missing"))));
    test::write_file(folder.path() / name, whole);
    EXPECT_EQ(complaint(newer), "accepted");
  }
}

TEST(CheckpointSlices, OfAnotherCheckpointOfThatStepAreRefused) {
  const test::TempDir folder;
  const auto file = write_set(folder.path(), 10);
  CheckpointSlice other = slices(10)[1];
  other.states[0][0] += 1;
  write_slice(folder.path(), other);
  EXPECT_THAT(complaint(file), AllOf(HasSubstr(slice_name(10, 1, 3).string()),
                                     HasSubstr("of another checkpoint of that step")));
}

TEST(CheckpointSlices, AreNoCheckpointWithoutTheMainFile) {
  const test::TempDir folder;
  const auto older = write_set(folder.path(), 10);
  for (const CheckpointSlice& slice : slices(20))
    write_slice(folder.path(), slice);
  const FoundCheckpoint found = newest_checkpoint({folder.path()});
  EXPECT_EQ(found.file, older);
  EXPECT_THAT(found.rejected, IsEmpty());
  EXPECT_THAT(complaint(folder.path() / slice_name(20, 0, 3)), HasSubstr("one rank's part"));
}

TEST(CheckpointSlices, ThatMakeNoSenseAreRefusedThoughTheChecksumIsRight) {
  const auto forged = [](const auto& forge) {
    const test::TempDir folder;
    std::vector<CheckpointSlice> of_ranks = slices(10);
    forge(of_ranks);
    return complaint(write_set(folder.path(), 10, of_ranks));
  };
  using Slices = std::vector<CheckpointSlice>;
  EXPECT_EQ(forged([](Slices&) {}), "accepted");
  const char* const runs = "its runs are not those of the parameters";
  EXPECT_THAT(forged([](Slices& s) { s[0].runs[1].begin = 1; }), HasSubstr(runs));
  EXPECT_THAT(forged([](Slices& s) { s[0].runs[1].begin = 7; }), HasSubstr(runs));
  EXPECT_THAT(forged([](Slices& s) { s[0].runs[0].begin = -1; }), HasSubstr(runs));
  EXPECT_THAT(forged([](Slices& s) { s[0].runs[1].count = INT64_MAX; }), HasSubstr(runs));
  EXPECT_THAT(forged([](Slices& s) { s[0].runs[1].count = 0; }), HasSubstr(runs));
  EXPECT_THAT(forged([](Slices& s) { s[0].runs[1].begin = 5; }), HasSubstr("not all of it"));
  EXPECT_THAT(forged([](Slices& s) { s[0].states.pop_back(); }), HasSubstr("other things"));
  EXPECT_THAT(forged([](Slices& s) { s[2].parts.pop_back(); }), HasSubstr("other things"));
}

TEST(PruneCheckpoints, TakesSlicesWithTheirCheckpointAndLeftoversOfGivenUpOnes) {
  const test::TempDir folder;
  for (const int step : {10, 20, 30})
    write_set(folder.path(), step);
  write_slice(folder.path(), slices(15)[0]);  // given up
  write_slice(folder.path(), slices(40)[1]);  // the next one, under way
  test::write_file(folder.path() / (slice_name(15, 1, 3).string() + ".new"), "given up");
  test::write_file(folder.path() / (slice_name(40, 2, 3).string() + ".new"), "under way");
  prune_checkpoints(folder.path(), 1, 10);
  EXPECT_THAT(files_in(folder.path()),
              ElementsAre("step-000000000010.ckpt", "step-000000000010.rank-0000-of-0003.ckpt",
                          "step-000000000010.rank-0001-of-0003.ckpt",
                          "step-000000000010.rank-0002-of-0003.ckpt", "step-000000000030.ckpt",
                          "step-000000000030.rank-0000-of-0003.ckpt",
                          "step-000000000030.rank-0001-of-0003.ckpt",
                          "step-000000000030.rank-0002-of-0003.ckpt",
                          "step-000000000040.rank-0001-of-0003.ckpt",
                          "step-000000000040.rank-0002-of-0003.ckpt.new"));
}

}  // namespace
}  // namespace thalweg::engine
