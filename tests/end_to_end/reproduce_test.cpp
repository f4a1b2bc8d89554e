// thalweg reproduce, through the real programs: on other numbers of ranks, of trials that were
// killed, of records that do not agree, and with Ctrl-C.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <random>

#include "tests/end_to_end/sweep_home.h"

namespace thalweg::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// Eight shards, so that up to eight ranks share a batch.
TinySweep in_eight_shards() {
  TinySweep sweep;
  sweep.ranks_per_node = 1;
  sweep.train = "  batch: {global: 64, shards: 8}\n";
  return sweep;
}

/// TinySweep writes a batch of its own.
std::string text_of(const TinySweep& sweep) {
  std::string text = sweep.text();
  const std::string first = "  batch: {global: 64}\n";
  return text.erase(text.find(first), first.size());
}

json reproduce(SweepHome& home, const std::string& what, int ranks) {
  const Outcome outcome = home.thalweg(
      {"reproduce", what, "--ranks", std::to_string(ranks), "--json"}, milliseconds(3600000));
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  return json::parse(outcome.out, nullptr, false);
}

/// Kills one rank after the other while the sweep runs, each once it has reported a checkpoint.
int kill_ranks(SweepHome& home, const std::string& id, int kills) {
  std::mt19937 random(20261129);
  int done = 0;
  for (const milliseconds pause(150); done < kills && home.is_active(id); sleep_for(pause)) {
    const auto ranks = home.engines(id);
    if (ranks.empty() || !home.has_checkpoint(id)) continue;
    if (kill(ranks[random() % ranks.size()], SIGKILL) == 0) ++done;
  }
  return done;
}

/// How many attempts went on from a checkpoint.
long long resumed(SweepHome& home, const std::string& id) {
  return home.query("SELECT count(*) FROM starts WHERE resumed_step > 0 AND sweep = " +
                    id)["rows"][0][0];
}

void expect_reproduced(SweepHome& home, const std::string& id, std::size_t trials) {
  for (const int ranks : {1, 3, 8}) {
    const json answer = reproduce(home, id, ranks);
    ASSERT_EQ(answer["trials"].size(), trials) << answer.dump(2);
    EXPECT_EQ(answer["reproduced"], trials) << answer.dump(2);
    for (const json& trial : answer["trials"]) {
      EXPECT_EQ(trial["ranks"], ranks);
      EXPECT_EQ(trial["values"], trial["equal"]);
      EXPECT_GT(trial["values"], 30);
      EXPECT_GT(trial["weights"]["arrays"], 1);
    }
  }
}

TEST(Reproduce, KilledTrialsOnOneThreeAndEightRanks) {
  SweepHome home;
  TinySweep sweep = in_eight_shards();
  sweep.steps = 1500;
  sweep.extra = "limits: {max_retries: 10}\n";
  const std::string id = home.submit(text_of(sweep), "local");
  EXPECT_GT(kill_ranks(home, id, 2), 0);
  ASSERT_TRUE(home.wait_for_end(id));
  EXPECT_GT(resumed(home, id), 0);
  expect_reproduced(home, id, 2);
}

TEST(Reproduce, AHundredTrialsAfterFiftyKills) {
  SweepHome home;
  TinySweep sweep = in_eight_shards();
  sweep.steps = 1500;
  sweep.seeds = 10;
  sweep.varied =
      "  optimizer.name: {values: [sgd, momentum, adamw, lamb, lars]}\n"
      "  optimizer.lr: {values: [0.001, 0.01]}\n";
  sweep.extra = "limits: {max_retries: 60}\n";
  const std::string id = home.submit(text_of(sweep), "local");
  EXPECT_EQ(kill_ranks(home, id, 50), 50);
  ASSERT_TRUE(home.wait_for_end(id, milliseconds(1200000)));
  EXPECT_GT(resumed(home, id), 10);
  expect_reproduced(home, id, 100);
}

/// Choices follow from the results of the generation before, so the same sweep comes out whatever
/// was killed; each trial goes on from another one's checkpoint.
TEST(Reproduce, APopulationThatWasKilledIsTheSame) {
  SweepHome home;
  TinySweep sweep;
  sweep.steps = 200;
  sweep.ranks_per_node = 1;
  sweep.train = "  optimizer: {name: momentum}\n";
  sweep.varied = "  optimizer.lr: {distribution: log_uniform_values, min: 0.0001, max: 1}\n";
  sweep.extra = "run_cap: 8\npbt: {population: 4, truncation: 0.5}\nlimits: {max_retries: 10}\n";
  std::string text = sweep.text();
  const std::string grid = "method: grid\n";
  text.replace(text.find(grid), grid.size(), "method: pbt\n");
  const auto trials = [&](const std::string& id) {
    return home.query("SELECT trial, parameters FROM trials WHERE sweep = " + id +
                      " ORDER BY trial")["rows"];
  };
  const std::string quiet = home.submit(text, "local");
  ASSERT_NE(quiet, "");
  ASSERT_TRUE(home.wait_for_end(quiet));
  const std::string killed = home.submit(text, "local");
  EXPECT_GT(kill_ranks(home, killed, 2), 0);
  kill(home.controller(), SIGKILL);
  ASSERT_TRUE(home.wait_for_end(killed));
  EXPECT_EQ(trials(killed), trials(quiet));
  EXPECT_EQ(trials(killed).size(), 8u);
  home.expect_nothing_lost_or_doubled(killed);
  expect_same_curves(killed, home.curves(quiet), home.curves(killed));
  EXPECT_TRUE(home.curves(killed).contains({8, "train/loss", 400}));
  EXPECT_EQ(reproduce(home, killed + ".8", 2)["reproduced"], 1);
}

TEST(Reproduce, ACapsuleNeedsNoControllerAndTellsWhatDiffers) {
  SweepHome home;
  TinySweep sweep = in_eight_shards();
  sweep.steps = 57;
  const std::string id = home.submit(text_of(sweep), "local");
  ASSERT_TRUE(home.wait_for_end(id));
  const std::string trial = id + ".1";
  // What was reported at the first end, and only since it was one, is in the record.
  ASSERT_EQ(home.thalweg({"extend", id, "--steps", "60"}).code, 0);
  ASSERT_TRUE(home.wait_for_end(id));
  ASSERT_EQ(home.thalweg({"export", trial, "--format", "capsule", "-o", "good"}).code, 0);
  const json good = json::parse(read_file(home.folder() / "good"));
  EXPECT_EQ(good["earlier_ends"], json({57}));
  EXPECT_THAT(good["sweep_file"].get<std::string>(), HasSubstr("name: tiny"));
  ASSERT_EQ(home.thalweg({"daemon", "stop"}).code, 0);
  const auto run = [&](const json& capsule) {
    write_file(home.folder() / "capsule", capsule.dump());
    return home.thalweg({"reproduce", "capsule"});
  };
  const Outcome same = run(good);
  EXPECT_EQ(same.code, 0) << same.out << same.err;
  EXPECT_THAT(same.out, HasSubstr(trial + " reproduced: on 1 rank all "));
  EXPECT_EQ(home.controller(), 0);

  json other = good;  // another learning rate: from the first report on
  std::string text = other["trial"];
  text.insert(text.find("  optimizer:\n") + 13, "    lr: 0.0123\n");
  other["trial"] = text;
  const Outcome different = run(other);
  EXPECT_EQ(different.code, 1);
  EXPECT_THAT(different.out, HasSubstr("different: on 1 rank from step 5, "));

  other = good;
  json& loss = other["curves"]["train/loss"];
  loss[3][1] = std::nextafter(loss[3][1].get<double>(), 0.0);
  EXPECT_THAT(run(other).out,
              HasSubstr("from step " + loss[3][0].dump() + ", train/loss: " + loss[3][1].dump()));

  other = good;
  other["weights"]["arrays"][1]["hash"] = "0123456789abcdef";
  other["start"]["libraries"]["oneDNN"] = "0.9";
  const Outcome weights = run(other);
  EXPECT_EQ(weights.code, 1);
  EXPECT_THAT(weights.out, HasSubstr("the weights of step 60 differ from array " +
                                     good["weights"]["arrays"][1]["name"].get<std::string>()));
  EXPECT_THAT(weights.out, HasSubstr("not as recorded: oneDNN "));
}

TEST(Reproduce, WhatItCannotIsSaid) {
  SweepHome home;
  const std::string id = home.submit(text_of(in_eight_shards()), "local");
  ASSERT_TRUE(home.wait_for_end(id));
  const auto says = [&](std::vector<std::string> words, int code) {
    words.insert(words.begin(), "reproduce");
    const Outcome outcome = home.thalweg(words);
    EXPECT_EQ(outcome.code, code) << outcome.out << outcome.err;
    return outcome.err;
  };
  EXPECT_THAT(says({id, "-n", "9"}, 2), HasSubstr("cannot be trained on 9 ranks: its batch has 8"));
  EXPECT_THAT(says({"99"}, 4), HasSubstr("99"));
  EXPECT_THAT(says({id, "-n", "513"}, 2), HasSubstr("from 1 to 512"));
  ASSERT_EQ(home.thalweg({"reproduce", id + ".1", "--folder", "kept"}).code, 0);
  EXPECT_TRUE(std::filesystem::exists(home.folder() / "kept" / (id + ".1") / "journal.jsonl"));
  EXPECT_THAT(says({id + ".1", "--folder", "kept"}, 2), HasSubstr("holds a run already"));

  TinySweep sweep = in_eight_shards();
  sweep.ranks_per_node = 2;
  sweep.train += "  sync: {mode: async}\n";
  const std::string late = home.submit(text_of(sweep), "local");
  ASSERT_TRUE(home.wait_for_end(late));
  EXPECT_THAT(says({late + ".1"}, 2), HasSubstr("the order of updates depends on time"));
}

TEST(Reproduce, AnInterruptEndsItsRanks) {
  SweepHome home;
  TinySweep sweep = in_eight_shards();
  sweep.steps = 4000;
  sweep.varied = "  optimizer.name: {values: [momentum]}\n";
  const std::string id = home.submit(text_of(sweep), "local");
  ASSERT_TRUE(home.wait_for_end(id));
  const std::string folder = (home.folder() / "kept").string();
  const auto ranks = [&] {
    std::size_t found = 0;
    for (const pid_t pid : processes_named("thalweg-train"))
      if (command_line(pid).find(folder) != std::string::npos) ++found;
    return found;
  };
  const Outcome outcome = home.shell("thalweg reproduce " + id +
                                     " -n 2 --folder kept & pid=$!; "
                                     "until grep -q metrics kept/" +
                                     id +
                                     ".1/journal.jsonl 2>/dev/null; do sleep 0.01; done; "
                                     "kill -INT $pid; wait $pid; echo code $?");
  EXPECT_THAT(outcome.out, HasSubstr("code 130")) << outcome.err;
  EXPECT_EQ(ranks(), 0u);
}

}  // namespace
}  // namespace thalweg::test
