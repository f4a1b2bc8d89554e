// Whole sweeps on this machine, through the real programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdio>
#include <sstream>

#include "tests/end_to_end/crashes.h"
#include "tests/end_to_end/sweep_home.h"
#include "tests/support/npy.h"

namespace thalweg::test {
namespace {

TEST(LocalSweep, RunsToTheComparison) {
  SweepHome home;
  write_file(home.folder() / "sweep.yaml", TinySweep{}.text());
  const Outcome outcome =
      home.thalweg({"run", "sweep.yaml", "--backend", "local"}, milliseconds(120000));
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("adamw"), std::string::npos) << outcome.out;
  home.expect_nothing_lost_or_doubled("1");
  const auto comparison = home.json({"compare", "1"});
  ASSERT_EQ(comparison["rows"].size(), 2u) << comparison.dump(2);
  EXPECT_EQ(comparison["rows"][0]["n"], 1);
  EXPECT_EQ(comparison["rows"][0]["verdict"], "best");
  EXPECT_THAT(read_file(home.home() / "controller.log"),
              testing::Not(testing::HasSubstr("malformed")))
      << "the controller does not understand what the engine writes";
  const auto attempts = home.query("SELECT DISTINCT node_list FROM attempts");
  ASSERT_EQ(attempts["rows"].size(), 1u) << attempts.dump();
  EXPECT_FALSE(attempts["rows"][0][0].get<std::string>().empty());

  // Nodes that nobody has tried are simulated, by a link of any speed.
  const auto speeds = [&](const char* gbit) {
    const auto predicted =
        home.json({"predict", "1.1", "--nodes", "1,2,4", "--simulate", "--link", gbit});
    EXPECT_EQ(predicted["rows"][0]["speed"], "measured") << predicted.dump(2);
    std::vector<double> found;
    for (const auto& row : predicted["rows"]) {
      EXPECT_NE(row["speed"], "predicted") << row.dump();
      found.push_back(row["samples_per_s"]);
    }
    return found;
  };
  const auto slow = speeds("0.01"), fast = speeds("10000");
  EXPECT_LT(slow[2], slow[0]) << "messages of 10 Mbit/s take longer than the passes";
  EXPECT_GT(fast[2], slow[2]);
  EXPECT_LT(fast[2], 4.001 * fast[0]);
  // Measured on one number of nodes, they need not be asked for.
  const auto itself = home.json({"predict", "1.1", "--nodes", "1,4"});
  EXPECT_EQ(itself["rows"][1]["speed"], "simulated") << itself.dump(2);
  EXPECT_LT(itself["rows"][1]["efficiency"], 1) << "messages cost something";
  const auto sums = home.json({"predict", "1.1", "--nodes", "1,4", "--no-simulation"});
  EXPECT_EQ(sums["rows"][1]["speed"], "predicted") << sums.dump(2);
}

TEST(LocalSweep, SaysHowFarATrialIs) {
  SweepHome home;
  TinySweep sweep;
  sweep.steps = 200000;
  const std::string id = home.submit(sweep.text(), "local");
  nlohmann::json progress;
  EXPECT_TRUE(eventually(
      [&] {
        progress = home.json({"show", id})["trials"][0]["progress"];
        return progress.contains("step") && progress.contains("seconds_left");
      },
      milliseconds(60000)))
      << progress.dump(2);
  EXPECT_EQ(progress.value("steps", 0), sweep.steps);
  EXPECT_GT(progress.value("epochs", 0.0), 0);
  EXPECT_EQ(home.thalweg({"cancel", id}).code, 0);
  EXPECT_TRUE(home.wait_for_end(id));
}

/// The places and words of the 20 mistakes of refused.yaml, each of which only the engine knows.
std::vector<std::string> expected_refusals(const std::string& text) {
  std::vector<std::string> found;
  std::istringstream rows(text);
  for (std::string row; std::getline(rows, row);)
    if (const std::string mark = "# expect: "; row.rfind(mark, 0) == 0)
      found.push_back("refused.yaml:" + row.substr(mark.size()));
  return found;
}

TEST(LocalSweep, WhatTheEngineKnowsIsRefusedOnSubmission) {
  SweepHome home;
  const std::string source = std::string(THALWEG_SOURCE_DIR) + "/tests/end_to_end/data/";
  const std::string text = read_file(source + "refused.yaml");
  write_file(home.folder() / "refused.yaml", text);
  write_file(home.folder() / "x.npy", npy_text("<f4", {480, 12}, std::vector<float>(480 * 12, 1)));
  write_file(home.folder() / "few.npy", npy_text("<f4", {20, 12}, std::vector<float>(20 * 12, 1)));
  write_file(home.folder() / "cut.npy",
             npy_text("<f4", {480, 12}, std::vector<float>(480 * 12, 1)).substr(0, 1000));
  write_file(home.folder() / "notes.txt", "no array");
  std::vector<std::int64_t> labels(480);
  for (std::size_t i = 0; i < labels.size(); ++i)
    labels[i] = static_cast<std::int64_t>(i % 10);
  write_file(home.folder() / "y.npy", npy_text("<i8", {480}, labels));
  const std::vector<std::string> expected = expected_refusals(text);
  EXPECT_EQ(expected.size(), 20u);
  for (const char* command : {"validate", "submit"}) {
    const auto start = std::chrono::steady_clock::now();
    const Outcome outcome = home.thalweg({command, "refused.yaml", "--backend", "local"});
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::printf("%s refused 200 trials in %.2f s\n", command, took.count());
    EXPECT_EQ(outcome.code, 2) << outcome.out;
    std::string said = outcome.err;  // with paths as they are in the file
    const std::string folder = home.folder().string() + "/";
    for (std::size_t at; (at = said.find(folder)) != said.npos;)
      said.erase(at, folder.size());
    for (const std::string& words : expected)
      EXPECT_THAT(said, testing::HasSubstr(words)) << command;
  }
  EXPECT_TRUE(home.query("SELECT * FROM sweeps")["rows"].empty());
}

TEST(LocalSweep, StarterFilesRun) {
  SweepHome home;
  write_file(home.folder() / "text.txt", [] {
    std::string text;
    for (int i = 0; i < 2000; ++i)
      text += "the quick brown fox jumps over the lazy dog. ";
    return text;
  }());
  const std::string data = std::string(THALWEG_SOURCE_DIR) + "/tests/end_to_end/data/";
  const std::map<std::string, std::string> files{{"example", ""},
                                                 {"classes", data + "table.npz"},
                                                 {"regression", data + "table.npz"},
                                                 {"images", data + "images.npz"},
                                                 {"text", "text.txt"}};
  for (const auto& [kind, file] : files) {
    std::vector<std::string> words{"init",  kind + ".yaml", "--kind", kind,
                                   "--yes", "--seeds",      "1",      "--epochs",
                                   "1",     "--optimizers", "adamw"};
    if (!file.empty()) words.insert(words.end(), {"--data", file});
    const Outcome written = home.thalweg(words);
    ASSERT_EQ(written.code, 0) << written.err;
    const Outcome valid = home.thalweg({"validate", kind + ".yaml"});
    EXPECT_EQ(valid.code, 0) << kind << valid.out << valid.err;
    if (kind == "example") continue;  // an epoch of it takes long; RunsToTheComparison trains it
    const Outcome outcome = home.thalweg({"run", kind + ".yaml", "--backend", "local"});
    EXPECT_EQ(outcome.code, 0) << kind << outcome.out << outcome.err;
    EXPECT_THAT(outcome.out, testing::Not(testing::HasSubstr("no data"))) << kind;
  }
}

TEST(LocalSweep, SameSeedSameCurveOnOneTwoThreeAndFourRanks) {
  SweepHome home;
  std::vector<std::string> sweeps;
  for (const int ranks : {1, 2, 3, 4}) {
    TinySweep sweep;
    sweep.ranks_per_node = ranks;
    sweeps.push_back(home.submit(sweep.text(), "local"));
  }
  for (const std::string& id : sweeps)
    ASSERT_TRUE(home.wait_for_end(id)) << id;
  const Curves first = home.curves(sweeps[0]);
  EXPECT_GT(first.size(), 20u);
  for (const std::string& id : sweeps)
    EXPECT_EQ(home.curves(id), first) << "sweep " << id;
}

TEST(LocalSweep, KilledRankIsNamedAndTheTrialGoesOnFromItsCheckpoint) {
  SweepHome home;
  TinySweep sweep;
  sweep.steps = 4000;
  const std::string whole = home.submit(sweep.text(), "local");
  ASSERT_TRUE(home.wait_for_end(whole));
  const std::string broken = home.submit(sweep.text(), "local");

  ASSERT_TRUE(eventually([&] { return home.has_checkpoint(broken); }, milliseconds(60000)));
  const std::vector<pid_t> ranks = home.engines(broken);
  ASSERT_FALSE(ranks.empty());
  const pid_t victim = ranks.back();
  ASSERT_EQ(kill(victim, SIGKILL), 0);
  EXPECT_TRUE(eventually(
      [&] {
        for (const pid_t pid : ranks)
          if (!command_line(pid).empty() && kill(pid, 0) == 0) return false;
        return true;
      },
      milliseconds(10000)))
      << "the other ranks must end within 10 s";

  ASSERT_TRUE(home.wait_for_end(broken));
  home.expect_nothing_lost_or_doubled(broken);
  const auto failed = home.query(
      "SELECT trial, attempt, failed_rank, failed_node, reason FROM attempts WHERE sweep = " +
      broken + " AND state = 'failed'");
  ASSERT_EQ(failed["rows"].size(), 1u) << failed.dump(2);
  EXPECT_TRUE(failed["rows"][0][2].is_number()) << failed.dump(2);
  EXPECT_FALSE(failed["rows"][0][3].get<std::string>().empty()) << failed.dump(2);
  const std::string trial = broken + "." + failed["rows"][0][0].dump();
  const std::string second = test::read_file(home.attempt_folder(trial + ".2") / "journal.jsonl");
  EXPECT_EQ(second.find("\"resumed_step\":0"), std::string::npos)
      << "it must go on from a checkpoint: from the start the curve would be the same";
  EXPECT_EQ(home.curves(broken), home.curves(whole)) << "the curve must be the uninterrupted one";
}

TEST(LocalSweep, DataIsFoundByTheSubmittersVariableAndFromTheSweepFile) {
  SweepHome home;
  ASSERT_EQ(home.thalweg({"daemon", "start"}).code, 0);  // without the variable
  const std::filesystem::path folder = home.folder() / "data sets/cifar-10";
  std::filesystem::create_directories(folder);
  for (int file = 1; file <= 5; ++file) {
    std::string records(20 * (1 + 3 * 32 * 32), '\0');
    for (std::size_t i = 0; i < records.size(); ++i)
      records[i] = static_cast<char>(i % 3073 == 0 ? i / 3073 % 10 : i * 7 % 251);
    write_file(folder / ("data_batch_" + std::to_string(file) + ".bin"), records);
  }
  TinySweep sweep;
  sweep.ranks_per_node = 1;
  sweep.steps = 10;
  const auto with_data = [&](const std::string& data) {
    std::string text = sweep.text();
    const std::string before = "{name: fashion-mnist}";
    return text.replace(text.find(before), before.size(), data);
  };
  const std::string by_variable =
      home.submit(with_data("{name: cifar-10}"), "local", {{"THALWEG_DATA", "data sets"}});
  ASSERT_TRUE(home.wait_for_end(by_variable));
  EXPECT_EQ(home.json({"show", by_variable})["state"], "finished");

  std::filesystem::create_directories(home.folder() / "files");
  write_file(home.folder() / "files/sweep.yaml",
             with_data("{name: cifar-10, dir: ../data sets/cifar-10}"));
  const Outcome outcome =
      home.thalweg({"run", "files/sweep.yaml", "--backend", "local"}, milliseconds(120000));
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
}

TEST(LocalSweep, CancelEndsEverything) {
  SweepHome home;
  TinySweep sweep;
  sweep.steps = 200000;
  const std::string id = home.submit(sweep.text(), "local");
  ASSERT_TRUE(eventually([&] { return !home.engines().empty(); }));
  EXPECT_EQ(home.thalweg({"cancel", id}).code, 0);
  EXPECT_TRUE(home.wait_for_end(id));
  EXPECT_TRUE(eventually([&] { return home.engines().empty(); }));
  EXPECT_EQ(home.json({"show", id})["state"], "cancelled");
}

TEST(LocalSweep, SixtyFiveNodesAreRefusedAndClampIsSaid) {
  SweepHome home;
  TinySweep sweep;
  sweep.nodes = 65;
  sweep.ranks_per_node = 1;
  sweep.extra = "";
  write_file(home.folder() / "sweep.yaml", sweep.text());
  const Outcome refused = home.thalweg({"submit", "--dry-run", "sweep.yaml"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("sweep.yaml:"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("65"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("64"), std::string::npos) << refused.err;

  sweep.extra = "clamp: true\n";
  write_file(home.folder() / "sweep.yaml", sweep.text());
  const Outcome clamped = home.thalweg({"submit", "--dry-run", "sweep.yaml"});
  EXPECT_EQ(clamped.code, 0) << clamped.err;
  EXPECT_NE((clamped.out + clamped.err).find("64"), std::string::npos)
      << clamped.out << clamped.err;
  const auto plan = home.json({"submit", "--dry-run", "sweep.yaml"});
  EXPECT_EQ(plan["nodes_per_job"], 64) << plan.dump(2);
}

TEST(LocalSweep, ControllerKilledAtTwentyPointsLosesAndDoublesNothing) {
  SweepHome home;
  TinySweep sweep;
  sweep.seeds = 12;
  sweep.ranks_per_node = 1;
  crash_through(home, sweep, "local");
}

}  // namespace
}  // namespace thalweg::test
