#include "engine/train/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "tests/engine/train/support.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

using jobspec::Map;
using jobspec::Value;
using testing::ElementsAre;
using testing::HasSubstr;

Checkpoint small(std::int64_t step = 17) {
  Checkpoint c;
  c.step = step;
  c.shards = 4;
  c.identity = Map{{"seed", "18446744073709551615"}, {"optimizer", Map{{"lr", 0.1}}}};
  c.interval_loss = 0.1 + 0.2;
  c.interval_steps = 3;
  c.samples = std::int64_t{1} << 60;
  c.schedule = {0.1, 1, 1.0 / 3, 40, 0};
  c.parameters = {1.5f, -0.0f, 1e-40f};
  c.running = {0.25f};
  c.states = {{1, 2, 3}, {4, 5, 6}};
  c.own = {7, 8, 9, 10};
  c.scalars = {0.1, 1e-300};
  return c;
}

TEST(Checkpoint, ReadsBackEveryBit) {
  const test::TempDir folder;
  const auto file = folder.path() / checkpoint_name(17);
  write_checkpoint(file, small());
  const Checkpoint c = read_checkpoint(file), expected = small();
  EXPECT_EQ(c.step, expected.step);
  EXPECT_EQ(c.shards, expected.shards);
  EXPECT_EQ(c.identity, expected.identity);
  EXPECT_EQ(c.interval_loss, expected.interval_loss);
  EXPECT_EQ(c.interval_steps, expected.interval_steps);
  EXPECT_EQ(c.samples, expected.samples);
  EXPECT_EQ(c.schedule, expected.schedule);
  EXPECT_EQ(c.parameters, expected.parameters);
  EXPECT_TRUE(std::signbit(c.parameters[1]));
  EXPECT_EQ(c.running, expected.running);
  EXPECT_EQ(c.states, expected.states);
  EXPECT_EQ(c.own, expected.own);
  EXPECT_EQ(c.scalars, expected.scalars);
}

TEST(Checkpoint, SamplesThatNobodyCountedStayUnknown) {
  const test::TempDir folder;
  const auto file = folder.path() / checkpoint_name(17);
  Checkpoint written = small();
  written.samples.reset();
  write_checkpoint(file, written);
  EXPECT_EQ(read_checkpoint(file).samples, std::nullopt);
}

TEST(Checkpoint, EmptyPartsKeepTheChecksum) {
  const test::TempDir folder;
  const auto file = folder.path() / checkpoint_name(17);
  Checkpoint written = small();
  written.running = {};  // no batch norm
  write_checkpoint(file, written);
  EXPECT_EQ(complaint(file), "accepted");
  EXPECT_EQ(read_checkpoint(file).states, written.states);
}

TEST(Checkpoint, EveryCutIsNoticed) {
  const test::TempDir folder;
  const auto file = folder.path() / checkpoint_name(17);
  write_checkpoint(file, small());
  const std::string whole = test::read_file(file);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    test::write_file(file, whole.substr(0, size));
    EXPECT_NE(complaint(file), "accepted") << size;
  }
  test::write_file(file, whole + "x");
  EXPECT_NE(complaint(file), "accepted");
}

TEST(Checkpoint, EveryFlippedByteIsNoticed) {
  const test::TempDir folder;
  const auto file = folder.path() / checkpoint_name(17);
  write_checkpoint(file, small());
  const std::string whole = test::read_file(file);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    test::write_file(file, damaged);
    EXPECT_NE(complaint(file), "accepted") << i;
  }
}

TEST(Checkpoint, AnotherFormatIsNamed) {
  const test::TempDir folder;
  const auto file = folder.path() / checkpoint_name(17);
  write_checkpoint(file, small());
  std::string bytes = test::read_file(file);
  bytes[8] = 4;
  test::write_file(file, bytes);
  EXPECT_THAT(complaint(file), HasSubstr("format 4, this program reads formats 2 and 3"));
  test::write_file(file, std::string(200, 'x'));
  EXPECT_THAT(complaint(file), HasSubstr("not a checkpoint"));
}

TEST(Checkpoint, NumbersThatMakeNoSenseAreRefusedThoughTheChecksumIsRight) {
  const test::TempDir folder;
  const auto file = folder.path() / "forged.ckpt";
  const struct {
    const char* name;
    std::function<void(Checkpoint&)> forge;
  } table[] = {
      {"step", [](Checkpoint& c) { c.step = -1; }},
      {"step", [](Checkpoint& c) { c.step = std::numeric_limits<std::int64_t>::max(); }},
      {"shards", [](Checkpoint& c) { c.shards = 0; }},
      {"shards", [](Checkpoint& c) { c.shards = -4; }},
      {"micro_batches", [](Checkpoint& c) { c.micro_batches = 0; }},
      {"ranks", [](Checkpoint& c) { c.ranks = -2; }},
      {"interval_steps", [](Checkpoint& c) { c.interval_steps = -1; }},
      {"samples", [](Checkpoint& c) { c.samples = -1; }},
  };
  for (const auto& row : table) {
    Checkpoint c = small();
    row.forge(c);
    write_checkpoint(file, c);
    EXPECT_THAT(complaint(file), HasSubstr(std::string(row.name) + " is ")) << row.name;
  }
}

TEST(Checkpoint, NothingRemainsOfAWriteThatFails) {
  const test::TempDir folder;
  EXPECT_THROW(write_checkpoint(folder.path() / "missing" / checkpoint_name(1), small()),
               std::system_error);
  std::filesystem::create_directory(folder.path() / checkpoint_name(1));  // cannot be renamed over
  EXPECT_THROW(write_checkpoint(folder.path() / checkpoint_name(1), small()), std::system_error);
  EXPECT_FALSE(std::filesystem::exists((folder.path() / checkpoint_name(1)).string() + ".new"));
}

TEST(NewestCheckpoint, IsTheValidOneWithMostSteps) {
  const test::TempDir mine, earlier;
  write_checkpoint(mine.path() / checkpoint_name(10), small(10));
  write_checkpoint(earlier.path() / checkpoint_name(20), small(20));
  write_checkpoint(mine.path() / checkpoint_name(30), small(30));
  test::write_file(mine.path() / checkpoint_name(30), "cut");
  test::write_file(mine.path() / "step-000000000040.ckpt.new", "aside");
  test::write_file(mine.path() / "notes.txt", "mine");
  const FoundCheckpoint found = newest_checkpoint({mine.path(), earlier.path(), "/nonexistent"});
  ASSERT_TRUE(found.checkpoint);
  EXPECT_EQ(found.checkpoint->step, 20);
  EXPECT_EQ(found.file, earlier.path() / checkpoint_name(20));
  EXPECT_THAT(found.rejected, ElementsAre(HasSubstr("step-000000000030.ckpt: the file ends")));
}

TEST(NewestCheckpoint, PrefersTheEarlierFolderWhereStepsAreEqual) {
  const test::TempDir first, second;
  write_checkpoint(first.path() / checkpoint_name(10), small(10));
  write_checkpoint(second.path() / checkpoint_name(10), small(10));
  EXPECT_EQ(newest_checkpoint({first.path(), second.path()}).file.parent_path(), first.path());
  EXPECT_EQ(newest_checkpoint({second.path(), first.path()}).file.parent_path(), second.path());
}

TEST(PruneCheckpoints, KeepsTheNewest) {
  const test::TempDir folder;
  for (const int step : {5, 100, 20})
    write_checkpoint(folder.path() / checkpoint_name(step), small(step));
  test::write_file(folder.path() / (checkpoint_name(7).string() + ".new"), "given up");
  prune_checkpoints(folder.path(), 2);
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    left.push_back(entry.path().filename().string());
  EXPECT_THAT(left,
              testing::UnorderedElementsAre("step-000000000100.ckpt", "step-000000000020.ckpt"));
}

TEST(RunIdentity, IgnoresWhatDoesNotChangeTheCurve) {
  const Value a = jobspec::read_yaml(
      "{model: {name: mlp}, data: {name: x, dir: /a}, batch: {global: 8, shards: 4}, log: {every: "
      "1}}",
      "a");
  const Value b = jobspec::read_yaml(
      "{log: {every: 9}, batch: {shards: 8, global: 8}, data: {dir: /b, name: x}, model: {name: "
      "mlp}}",
      "b");
  require_same_run(run_identity(a, 1, 10), run_identity(b, 1, 10), "file");
}

TEST(RunIdentity, NamesWhatDiffers) {
  const auto difference = [](const std::string& before, const std::string& after,
                             std::uint64_t seed = 1, std::int64_t steps = 10) {
    try {
      require_same_run(run_identity(jobspec::read_yaml(before, "a"), 1, 10),
                       run_identity(jobspec::read_yaml(after, "b"), seed, steps), "old.ckpt");
    } catch (const std::invalid_argument& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  const std::string run = "{optimizer: {name: sgd, lr: 0.1}, batch: {global: 8}}";
  EXPECT_EQ(difference(run, run), "accepted");
  EXPECT_THAT(difference(run, "{optimizer: {name: sgd, lr: 0.2}, batch: {global: 8}}"),
              HasSubstr("old.ckpt belongs to another run: optimizer.lr was 0.1 and is 0.2"));
  EXPECT_THAT(
      difference(run, "{optimizer: {name: sgd, lr: 0.1, momentum: 0.9}, batch: {global: 8}}"),
      HasSubstr("optimizer.momentum was null and is 0.9"));
  EXPECT_THAT(difference(run, "{optimizer: {name: sgd, lr: 0.1}, batch: {global: 16}}"),
              HasSubstr("batch.global was 8 and is 16"));
  const auto in = [](const std::string& precision) {
    return "{optimizer: {name: sgd, lr: 0.1}, batch: {global: 8}, precision: " + precision + "}";
  };
  EXPECT_EQ(difference(run, in("fp32")), "accepted");
  EXPECT_THAT(difference(run, in("bf16")), HasSubstr("precision was fp32 and is bf16"));
  EXPECT_THAT(difference(run, run, 2), HasSubstr("seed was 1 and is 2"));
  EXPECT_THAT(difference(run, run, 1, 20), HasSubstr("total_steps was 10 and is 20"));
}

}  // namespace
}  // namespace thalweg::engine
