// What `watch` and `run` show while a sweep is under way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/output/progress.h"
#include "cli/output/text.h"
#include "cli/output/watcher.h"
#include "daemon/api/sweep_messages.h"

namespace thalweg::cli {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

Json sample(const std::string& name) {
  std::ifstream in(std::string(THALWEG_SOURCE_DIR) + "/tests/cli/data/" + name + ".json");
  return Json::parse(in);
}

std::vector<std::string> frame(const SweepView& sweep, TerminalSize size, bool colour = false) {
  return progress_frame(sweep, size, sweep.submitted + 84, Palette(colour));
}

SweepView large_sweep(int trials) {
  Json snapshot = sample("sweep");
  const Json pattern = snapshot["trials"];
  snapshot["trials"] = Json::array();
  for (int i = 0; i < trials; ++i) {
    Json trial = pattern[i % pattern.size()];
    trial["id"] = "12." + std::to_string(i + 1);
    snapshot["trials"].push_back(trial);
  }
  return SweepView::from_json(snapshot);
}

TEST(CliProgress, FrameOfEightTrials) {
  const auto lines = frame(SweepView::from_json(sample("sweep")), {100, 30});
  ASSERT_EQ(lines.size(), 11u);
  EXPECT_EQ(lines[0],
            "sweep 12 fashion-optimizers · local · running 1:24 · best val/error 0.1101 (12.1)");
  EXPECT_THAT(
      lines[1],
      EndsWith("20 % · 1/8 trials finished, 2 running, 4 pending, 1 failed · about 3:29 left"));
  EXPECT_THAT(lines[3], StartsWith("✓ 12.1  momentum, constant, seed 1  ━"));
  EXPECT_THAT(lines[3], EndsWith(" 100 %  0.3712     0.1123  10.3k/s    done"));
  EXPECT_THAT(lines[4], HasSubstr("failed: rank 1 on n2: killed by signal 9 (Killed)"));
  EXPECT_THAT(lines[5], StartsWith("↻ 12.3  "));  // its second attempt
  EXPECT_THAT(lines[5], EndsWith("50 %  0.4312     0.1432   9.8k/s    38 s"));
  EXPECT_THAT(lines[6], HasSubstr("queued: Priority"));
  EXPECT_THAT(lines[7], HasSubstr("pending: free cores"));
}

TEST(CliProgress, TimeLeftNeedsNoLabels) {
  const Json snapshot = sample("sweep");
  const auto message =
      daemon::api::from_json<daemon::api::SweepSnapshot>(snapshot, daemon::api::Reading::tolerant);
  const std::string left = time_left_text(SweepView::states_of(message), "");
  EXPECT_EQ(left, "about 3:29 left");
  EXPECT_EQ(left, time_left_text(SweepView::from_json(snapshot), ""));
}

TEST(CliProgress, EveryFrameFitsItsWindow) {
  for (const int trials : {1, 8, 500})
    for (const TerminalSize size :
         {TerminalSize{80, 24}, {140, 40}, {60, 10}, {40, 6}, {30, 3}, {20, 1}, {300, 100}}) {
      const auto lines = frame(large_sweep(trials), size);
      EXPECT_LE(static_cast<int>(lines.size()), std::max(1, size.rows - 1));
      for (const std::string& line : lines)
        EXPECT_LT(display_width(line), size.columns) << line;
    }
}

TEST(CliProgress, ATrialThatWaitsForTheEndOfAnAttemptSaysSo) {
  Json snapshot = sample("sweep");
  snapshot["trials"][2]["progress"]["waiting_for"] = "the end of 12.3.2: Slurm has forgotten it";
  EXPECT_THAT(frame(SweepView::from_json(snapshot), {140, 30}),
              testing::Contains(HasSubstr("waits for the end of 12.3.2: Slurm has forgotten it")));
}

TEST(CliProgress, LargeSweepShowsRunningFirstAndCountsTheRest) {
  const auto lines = frame(large_sweep(80), {100, 16});
  ASSERT_EQ(lines.size(), 15u);
  EXPECT_THAT(lines[3], HasSubstr("12.3 "));
  EXPECT_THAT(lines[4], HasSubstr("12.4 "));
  // 20 running, 10 failed, 40 pending, 10 finished; 11 lines are shown
  EXPECT_EQ(lines.back(), "… 9 more running, 10 more failed, 40 more pending, 10 more finished");
}

TEST(CliProgress, FinishedSweepIsFull) {
  const SweepView sweep = SweepView::from_json(sample("sweep_finished"));
  EXPECT_TRUE(sweep.over());
  EXPECT_TRUE(sweep.all_finished());
  EXPECT_THAT(frame(sweep, {100, 30})[1], HasSubstr("100 % · 8/8 trials finished"));
  EXPECT_EQ(elapsed(sweep, 1e12), 84);
}

TEST(CliProgress, OneTrialIsLikeASweepOfItsOwn) {
  Json snapshot = sample("sweep");
  snapshot["trials"][1]["ended"] = 1760000030.0;
  const SweepView all = SweepView::from_json(snapshot), failed = all.only("12.2");
  EXPECT_EQ(frame(failed, {100, 30})[0],
            "trial 12.2 of fashion-optimizers · local · failed 30 s · best val/error 0.41 (12.2)");
  EXPECT_TRUE(failed.over());
  EXPECT_FALSE(all.only("12.3").over());
  EXPECT_TRUE(all.only("12.99").trials.empty());
}

TEST(CliProgress, BestFollowsTheGoal) {
  Json snapshot = sample("sweep_finished");
  EXPECT_EQ(SweepView::from_json(snapshot).best()->id, "12.1");
  snapshot["goal"] = "maximize";
  EXPECT_EQ(SweepView::from_json(snapshot).best()->id, "12.8");
  for (Json& trial : snapshot["trials"])
    trial["progress"] = Json::object();
  EXPECT_EQ(SweepView::from_json(snapshot).best(), nullptr);
}

TEST(CliProgress, BarIsExactlyAsWideAsAsked) {
  for (int tenth = -1; tenth <= 11; ++tenth)
    EXPECT_EQ(display_width(progress_bar(tenth / 10.0, 13, Tint::green, Palette(false))), 13);
  EXPECT_EQ(progress_bar(0.5, 5, Tint::none, Palette(false)), "━━╸──");
  EXPECT_EQ(progress_bar(1, 3, Tint::none, Palette(false)), "━━━");
}

TEST(CliProgress, ColoursTakeNoColumns) {
  const SweepView sweep = SweepView::from_json(sample("sweep"));
  const auto bare = frame(sweep, {100, 30}), painted = frame(sweep, {100, 30}, true);
  ASSERT_EQ(bare.size(), painted.size());
  for (std::size_t i = 0; i < bare.size(); ++i)
    EXPECT_EQ(painted_width(painted[i]), display_width(bare[i]));
  EXPECT_THAT(painted[4], HasSubstr("\x1b[31m"));
  EXPECT_THAT(bare[4], testing::Not(HasSubstr("\x1b")));
}

TEST(CliProgress, RepaintGoesUpOverWhatWasDrawn) {
  EXPECT_THAT(repaint({}, 80, {"a"}), StartsWith("\x1b[?25l\ra\x1b[K\r\n"));
  EXPECT_THAT(repaint({70, 10}, 80, {"a"}), HasSubstr("\x1b[2A\r"));
  // The window has become narrower: 70 columns have wrapped to two rows.
  EXPECT_THAT(repaint({70, 10, 0}, 40, {"a"}), HasSubstr("\x1b[4A\r"));
}

std::string plain(const std::vector<std::pair<double, Json>>& snapshots) {
  std::ostringstream out;
  PlainWatcher watcher(out, 10);
  for (const auto& [time, snapshot] : snapshots)
    watcher.update_at(SweepView::from_json(snapshot), time);
  return out.str();
}

TEST(CliPlain, SaysChangesOnceAndProgressNowAndThen) {
  const Json first = sample("sweep");
  Json second = first;
  second["trials"][2]["progress"]["step"] = 600;
  second["trials"][4]["state"] = "running";
  Json third = second;
  third["trials"][3]["attempts"] = 2;
  const double t = 1760000084;
  EXPECT_EQ(
      plain({{t, first}, {t + 1, first}, {t + 2, second}, {t + 11, third}}),
      "sweep 12 fashion-optimizers on local: 1/8 trials finished, 2 running, 4 pending, 1 failed\n"
      "12.3 running  momentum, cosine, seed 1\n"
      "12.4 running  momentum, cosine, seed 2\n"
      "12.5 running  adamw, constant, seed 1\n"
      "12.4 attempt 2\n"
      "12.3 step 600/860 (70 %)  loss 0.4312  val/error 0.1432  9.8k/s  38 s left\n"
      "12.4 waits for Priority\n"
      "12.5 waits for free cores\n"
      "sweep 12 fashion-optimizers: about 3:43 left\n");
}

TEST(CliPlain, SaysWhyAnAttemptEndedAndWhyTrialsWait) {
  Json first = sample("sweep");
  first["trials"][4]["progress"]["waiting_for"] = "Resources";
  first["trials"][5]["progress"]["waiting_for"] = "Priority";
  Json second = first;
  second["trials"][3]["attempts"] = 2;
  second["trials"][3]["progress"]["last_end"] = "rank 1 died";
  const double t = 1760000084;
  const std::string text = plain({{t, first}, {t + 11, second}});
  EXPECT_THAT(text, HasSubstr("12.4 attempt 2, since attempt 1 ended: rank 1 died\n"));
  EXPECT_THAT(text, HasSubstr("12.5 waits: Resources\n"));
  EXPECT_THAT(text, HasSubstr("Priority\n"));
}

/// As a program of one's own tells it: steps without an end, no rate and no time that is left.
Json own_program() {
  Json snapshot = sample("sweep");
  for (Json& trial : snapshot["trials"]) {
    trial["parameters"] = {{"epochs", 5}, {"lr", trial["seed"]}};
    if (trial.contains("progress"))
      for (const char* key : {"steps", "loss", "samples_per_s", "seconds_left"})
        trial["progress"].erase(key);
  }
  return snapshot;
}

TEST(CliProgress, WhatNoTrialTellsTakesNoRoom) {
  const auto lines = frame(SweepView::from_json(own_program()), {100, 30});
  EXPECT_THAT(lines[2], testing::Not(testing::ContainsRegex("loss|rate|left")));
  EXPECT_THAT(lines[2], EndsWith("val/error"));
  EXPECT_THAT(lines[5], testing::ContainsRegex("step [0-9]+ +0.1432$"));
  for (const std::string& line : lines)
    EXPECT_THAT(line, testing::Not(HasSubstr("–"))) << line;
}

TEST(CliProgress, LabelsLeaveOutWhatAllTrialsHave) {
  const SweepView view = SweepView::from_json(own_program());
  EXPECT_EQ(view.trials[0].label, "lr=1, seed 1");
  Json one = own_program();
  one["trials"] = {one["trials"][0]};
  EXPECT_EQ(SweepView::from_json(one).trials[0].label, "epochs=5, lr=1, seed 1");
}

TEST(CliPlain, ProgressSaysNothingOfWhatNobodyKnows) {
  const Json first = own_program();
  const std::string text = plain({{1760000084, first}, {1760000095, first}});
  EXPECT_THAT(text, testing::ContainsRegex("\n12.3 step [0-9]+  val/error 0.1432\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("–")));
}

TEST(CliPlain, EndIsSaidOnce) {
  const Json first = sample("sweep"), last = sample("sweep_finished");
  const std::string text = plain({{1760000001, first}, {1760000084, last}, {1760000085, last}});
  EXPECT_THAT(text, HasSubstr("12.8 finished val/error 0.126\n"));
  EXPECT_THAT(text, EndsWith("sweep 12 fashion-optimizers finished after 1:24: 8/8 trials "
                             "finished; best val/error 0.112 (12.1)\n"));
}

TEST(CliPlain, ManyRunningTrialsAreOneLine) {
  Json snapshot = sample("sweep");
  for (Json& trial : snapshot["trials"])
    trial["state"] = "running";
  const double t = 1760000084;
  EXPECT_THAT(plain({{t, snapshot}, {t + 20, snapshot}}),
              EndsWith("sweep 12 fashion-optimizers: 0/8 trials finished, 8 running, about 1:12 "
                       "left; best val/error 0.1101 (12.1)\n"));
}

}  // namespace
}  // namespace thalweg::cli
