// What stays of a sweep, and a home that is moved, with the real programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/end_to_end/sweep_home.h"

namespace thalweg::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::vector<std::string> checkpoints_in(const fs::path& folder) {
  std::vector<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".ckpt") found.push_back(entry.path().string());
  return found;
}

TEST(LocalUpkeep, TheBestTrialKeepsItsBestCheckpointAndMovesHouse) {
  SweepHome home;
  TinySweep sweep;
  sweep.ranks_per_node = 1;
  sweep.extra = "keep: {checkpoints: best, trials: 1}\n";
  std::string text = sweep.text();
  const std::string every = "checkpoint: {every: 10}";
  text.replace(text.find(every), every.size(), "checkpoint: {every: 10, best: true}");
  const std::string id = home.submit(text, "local");
  ASSERT_TRUE(home.wait_for_end(id));
  ASSERT_TRUE(eventually([&] { return home.json({"show", id}).value("pruned", 0.0) > 0; }));
  const auto shown = home.json({"show", id});
  const auto& trials = shown["trials"];
  ASSERT_EQ(trials.size(), 2U);
  const bool second = trials[1]["progress"]["best"] < trials[0]["progress"]["best"];
  const std::string best = trials[second ? 1 : 0]["id"];
  const auto left = checkpoints_in(home.home() / "runs");
  ASSERT_EQ(left.size(), 1U) << testing::PrintToString(left);
  EXPECT_THAT(left[0], HasSubstr(home.attempt_folder(best + ".1").string()));
  EXPECT_GT(shown["freed_bytes"], 0);

  const std::string backup = (home.folder() / "record.db").string();
  EXPECT_EQ(home.thalweg({"backup", backup}).code, 0);
  EXPECT_EQ(home.thalweg({"daemon", "stop"}).code, 0);
  EXPECT_FALSE(fs::exists(home.home() / "thalweg.db-wal")) << "a copy of the file alone has it all";
  const fs::path moved = home.folder() / "moved";
  fs::create_directories(moved);
  fs::rename(home.home() / "runs", moved / "runs");
  const std::map<std::string, std::string> there{{"THALWEG_HOME", moved.string()}};
  const auto act = [&](const std::vector<std::string>& words) {
    return home.thalweg(words, milliseconds(60000), there);
  };
  EXPECT_EQ(act({"restore", backup}).code, 0);
  EXPECT_NE(act({"evaluate", best, "--best"}).code, 0) << "its folder is not where it was";
  const Outcome relocated =
      act({"relocate", (home.home() / "runs").string(), (moved / "runs").string()});
  EXPECT_EQ(relocated.out,
            "folders of 2 attempts are looked for in " + (moved / "runs").string() + " now\n")
      << relocated.err;
  const Outcome judged = act({"evaluate", best, "--best"});
  EXPECT_EQ(judged.code, 0) << judged.err;
  EXPECT_THAT(judged.out, HasSubstr("val/error"));
  EXPECT_EQ(act({"daemon", "stop"}).code, 0);
}

}  // namespace
}  // namespace thalweg::test
