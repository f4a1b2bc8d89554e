// Sweeps of programs that are not Thalweg's engine, through the real programs on this machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <thread>

#include "tests/end_to_end/sweep_home.h"

namespace thalweg::test {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

const std::string kData = std::string(THALWEG_SOURCE_DIR) + "/tests/end_to_end/data/own/";

/// A sweep of train.py: 2 learning rates, `seeds` seeds.
std::string training(int ranks, int steps, double pause, const std::string& more = "") {
  return "program: " + kData + "train.py\nmethod: grid\nseeds: 2\n" +
         "metric: {name: val/loss, goal: minimize, target: 1.0e-4}\n" +
         "config: {steps: " + std::to_string(steps) + ", pause: " + std::to_string(pause) + "}\n" +
         "parameters: {lr: {values: [0.1, 0.2]}}\n" +
         "resources: {ranks_per_node: " + std::to_string(ranks) + ", time: \"00:10:00\"}\n" + more;
}

/// A sweep of one trial of a shell script.
std::string script(const std::string& lines, const std::string& more = "") {
  std::string indented;
  for (const char c : lines + "\n")
    indented += c == '\n' ? std::string("\n    ") : std::string(1, c);
  return "command:\n- bash\n- -c\n- |\n    " + indented + "\nmetric: {name: loss}\n" + more;
}

const std::string kNoRetry = "limits: {max_retries: 0}\n";

nlohmann::json attempt(SweepHome& home, const std::string& id) {
  return home.json({"show", id});
}

std::string reason(SweepHome& home, const std::string& id) {
  return attempt(home, id).value("reason", "");
}

/// Every value is what the formula says, of every step once.
void expect_curves(SweepHome& home, const std::string& sweep, int steps) {
  std::size_t values = 0;
  for (const auto& [key, text] : home.curves(sweep)) {
    const auto& [trial, metric, step] = key;
    if (metric != "val/loss") continue;
    ++values;
    const double rate = trial <= 2 ? 0.1 : 0.2, seed = trial % 2 == 1 ? 1 : 2;
    const double weight = seed * std::pow(1 - rate, static_cast<double>(step));
    EXPECT_NEAR(std::stod(text), weight * weight, 1e-9) << trial << " at " << step;
  }
  EXPECT_EQ(values, 4u * static_cast<std::size_t>(steps));
}

TEST(OwnProgram, NeedsNoEngine) {
  SweepHome home;
  fs::create_directories(home.home());
  write_file(home.home() / "config.yaml", "local: {engine_program: /nowhere/thalweg-train}\n");
  const std::string id = home.submit(training(1, 3, 0), "local");
  ASSERT_TRUE(home.wait_for_end(id));
  expect_curves(home, id, 3);
  EXPECT_EQ(home.thalweg({"extend", id, "--seeds", "+1"}).code, 0);
  ASSERT_TRUE(home.wait_for_end(id));
  EXPECT_EQ(home.query("SELECT count(*) FROM trials WHERE state = 'finished'")["rows"][0][0], 6);
  write_file(home.folder() / "engine.yaml", "train: {model: {name: mlp, hidden: [4]}}\n");
  const Outcome refused = home.thalweg({"submit", "engine.yaml", "--backend", "local"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("/nowhere/thalweg-train is neither beside thalwegd nor in"));
}

TEST(OwnProgram, TrainsAndIsCompared) {
  SweepHome home;
  write_file(home.folder() / "sweep.yaml", training(2, 60, 0));
  const Outcome outcome =
      home.thalweg({"run", "sweep.yaml", "--backend", "local"}, milliseconds(120000));
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  home.expect_nothing_lost_or_doubled("1");
  expect_curves(home, "1", 60);
  const auto comparison = home.json({"compare", "1"});
  ASSERT_EQ(comparison["rows"].size(), 2u) << comparison.dump(2);
  EXPECT_EQ(comparison["rows"][0]["n"], 2);
  write_file(home.folder() / "again.yaml", home.thalweg({"rerun", "1.3", "--print"}).out);
  const Outcome again = home.thalweg({"run", "again.yaml", "--backend", "local"});
  EXPECT_EQ(again.code, 0) << again.out << again.err;
  const auto curve = [&](const std::string& trial) {
    return home.query("SELECT step, value FROM metrics WHERE metric = 'val/loss' AND " + trial +
                      " ORDER BY step")["rows"];
  };
  EXPECT_EQ(curve("sweep = 2").size(), 60u);
  EXPECT_EQ(curve("sweep = 2"), curve("sweep = 1 AND trial = 3"));
  const auto row = home.query("SELECT value FROM hyperparameters WHERE trial = 3 AND name = 'lr'");
  EXPECT_THAT(row["rows"].dump(), HasSubstr("0.2"));
}

TEST(OwnProgram, GoesOnAfterKillsOfARankAndOfTheController) {
  SweepHome home;
  const std::string id = home.submit(training(2, 80, 0.02), "local");
  ASSERT_TRUE(eventually([&] { return home.has_checkpoint(id) && home.engines(id).size() > 1; },
                         milliseconds(60000)));
  ASSERT_TRUE(eventually(
      [&] {
        return !home.query("SELECT 1 FROM metrics WHERE step >= 12")
                    .value("rows", nlohmann::json())
                    .empty();
      },
      milliseconds(60000)));
  const std::vector<pid_t> ranks = home.engines(id);
  ASSERT_FALSE(ranks.empty());
  ASSERT_EQ(kill(ranks.back(), SIGKILL), 0);
  if (const pid_t controller = home.controller(); controller > 0) kill(controller, SIGKILL);
  ASSERT_TRUE(home.wait_for_end(id));
  home.expect_nothing_lost_or_doubled(id);
  expect_curves(home, id, 80);
  const auto resumed = home.query("SELECT count(*) FROM attempts WHERE attempt > 1");
  EXPECT_GT(resumed["rows"][0][0].get<int>(), 0) << "the kill came too late to mean anything";
}

/// The script calls wandb.init, config, log and finish; a rank of it is killed once.
TEST(OwnProgram, ScriptsForWandbRunUnchangedWithoutIt) {
  SweepHome home;
  const std::string id = home.submit("program: " + kData + "wandb_train.py\n" +
                                         "method: grid\nproject: p\nentity: e\n"
                                         "metric: {name: loss, goal: minimize}\n"
                                         "parameters:\n"
                                         "  lr: {values: [0.1, 0.2]}\n"
                                         "  optimizer: {parameters: {momentum: {value: 0.5}}}\n"
                                         "env: {THALWEG_WANDB: shim}\n",
                                     "local");
  ASSERT_TRUE(home.wait_for_end(id));
  home.expect_nothing_lost_or_doubled(id);
  EXPECT_EQ(attempt(home, id + ".1.2")["state"], "finished") << reason(home, id + ".1.2");
  for (const int trial : {1, 2}) {
    const auto rows = home.query(
        "SELECT step, max(attempt), value FROM metrics WHERE metric = 'loss' "
        "AND trial = " +
        std::to_string(trial) + " GROUP BY step ORDER BY step")["rows"];
    ASSERT_EQ(rows.size(), 12u) << rows.dump();
    for (int epoch = 0; epoch < 12; ++epoch) {
      EXPECT_EQ(rows[static_cast<std::size_t>(epoch)][0], epoch);
      EXPECT_NEAR(rows[static_cast<std::size_t>(epoch)][2].get<double>(),
                  0.1 * trial + 1.0 / (epoch + 1), 1e-9);
    }
  }
  const auto names = home.query(
      "SELECT DISTINCT metric FROM latest_metrics WHERE metric NOT LIKE 'perf/%' ORDER BY metric")
                         ["rows"];
  EXPECT_EQ(names,
            nlohmann::json::parse(R"([["detail.accuracy"],["final"],["loss"],["loss.min"]])"));
  const std::string notes =
      home.query("SELECT data FROM events WHERE kind = 'note'")["rows"].dump();
  for (const char* dropped : {"wandb.watch", "wandb.Image", "detail.name"})
    EXPECT_THAT(notes, HasSubstr(std::string(dropped) + " "));
  EXPECT_THAT(read_file(home.attempt_folder(id + ".2.1") / "stdout.log"),
              HasSubstr("trials are started by Thalweg"));
}

/// As written for W&B it never asks, and would log for a minute after its target is met.
TEST(OwnProgram, ScriptsForWandbEndAtTheNextLogWhenToldTo) {
  SweepHome home;
  write_file(home.folder() / "train.py",
             "import time, wandb\n"
             "wandb.init(project='p')\n"
             "for i in range(600):\n"
             "    wandb.log({'loss': 1 / (i + 1)})\n"
             "    time.sleep(.1)\n");
  const std::string id = home.submit(
      "program: train.py\nmetric: {name: loss, goal: minimize, target: 0.2}\nstop: {at: target}\n"
      "env: {THALWEG_WANDB: shim}\n",
      "local");
  ASSERT_TRUE(home.wait_for_end(id, milliseconds(60000)));
  EXPECT_EQ(attempt(home, id + ".1")["state"], "finished") << reason(home, id + ".1.1");
  const auto values = home.query("SELECT count(*) FROM metrics WHERE metric = 'loss'")["rows"];
  EXPECT_GE(values[0][0].get<int>(), 5);
  EXPECT_LT(values[0][0].get<int>(), 100) << "a signal would come after 18 s, 180 values";
}

std::vector<fs::path> wandb_files() {
  std::vector<fs::path> files;
  for (const auto& entry :
       fs::directory_iterator(std::string(THALWEG_SOURCE_DIR) + "/tests/end_to_end/data/wandb"))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

class WandbSweepFile : public testing::TestWithParam<fs::path> {};

/// Sweep files as people write them for W&B, with a script of theirs, not a character changed.
/// Their first line says how many trials there are. Every program is killed once on its way, and
/// the controller once.
TEST_P(WandbSweepFile, RunsUnchanged) {
  SweepHome home;
  fs::copy(GetParam().parent_path(), home.folder() / "w");
  const std::string name = GetParam().filename().string();
  const std::string text = read_file(GetParam());
  const int trials = std::stoi(text.substr(std::string("# trials: ").size()));
  const Outcome outcome =
      home.thalweg({"submit", "w/" + name, "--backend", "local", "--json"}, milliseconds(60000),
                   {{"THALWEG_WANDB", "shim"}, {"DIE_ONCE", "1"}});
  ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  ASSERT_TRUE(eventually(
      [&] {
        return !home.query("SELECT 1 FROM metrics LIMIT 1").value("rows", nlohmann::json()).empty();
      },
      milliseconds(60000)));
  if (const pid_t controller = home.controller(); controller > 0) kill(controller, SIGKILL);
  ASSERT_TRUE(home.wait_for_end("1"));
  home.expect_nothing_lost_or_doubled("1");
  const auto rows = home.query("SELECT trial, state, reason, attempts FROM trials")["rows"];
  EXPECT_EQ(rows.size(), static_cast<std::size_t>(trials));
  int early = 0;
  for (const auto& row : rows) {
    EXPECT_EQ(row[1], "finished") << row.dump();
    const bool ended_early =
        row[2].is_string() && row[2].get<std::string>().starts_with("ended early");
    early += ended_early ? 1 : 0;
    if (!ended_early) {
      EXPECT_EQ(row[3], 2) << "it is killed once: " << row.dump();
    }
  }
  // Of bayes' trials all but the drawn third have a choice; the last one knows results.
  const auto chosen = home.query(
      "SELECT trial, json_extract(data, '$.reason') FROM events WHERE kind = 'chosen' "
      "ORDER BY trial")["rows"];
  if (GetParam().stem() == "bayes") {
    ASSERT_EQ(chosen.size(), 5u);
    EXPECT_THAT(chosen[4][1].get<std::string>(),
                testing::MatchesRegex("chosen by [3-6] results: .*"));
  } else {
    EXPECT_TRUE(chosen.empty());
  }
  EXPECT_TRUE(early == 0 || text.find("early_terminate") != std::string::npos);
  // Epochs of killed trials are there once, and the loss falls.
  const auto points = home.query(
      "SELECT trial, count(DISTINCT step), max(step) FROM metrics WHERE metric = 'val.loss' "
      "GROUP BY trial")["rows"];
  ASSERT_EQ(points.size(), static_cast<std::size_t>(trials));
  for (const auto& row : points)
    EXPECT_EQ(row[1].get<int>(), row[2].get<int>() + 1) << row.dump();
}

INSTANTIATE_TEST_SUITE_P(Files, WandbSweepFile, testing::ValuesIn(wandb_files()),
                         [](const auto& of) { return of.param.stem().string(); });

/// Two kinds, b worse by 1 than a; what is tuned is x, the smaller the better.
const std::string kStudy =
    "study: {compare: kind, budget: 4, final_seeds: 2}\n"
    "metric: {name: loss, goal: minimize}\n"
    "parameters: {kind: {values: [a, b]}, x: {min: 0.0, max: 1.0}}\n"
    "metric_pattern: '(?<loss>[0-9.]+)'\n"
    "command:\n- bash\n- -c\n- |\n"
    "    for a in \"$@\"; do case $a in --x=*) x=${a#--x=};; --kind=b) k=1;; --seed=*) "
    "s=${a#--seed=};; "
    "esac; done\n"
    "    awk \"BEGIN {print 1 + 0$k + $x + $s / 1000}\"\n"
    "- study\n- ${args}\n";

/// Dies between the stages, before the winners are in the record and after.
TEST(OwnProgram, AStudyRunsTheBestDrawsWithFreshSeeds) {
  SweepHome home;
  home.thalweg({"daemon", "start"}, milliseconds(30000), {{"THALWEG_FAULT", "before_choice:1"}});
  const std::string id = home.submit(kStudy, "local");
  ASSERT_EQ(id, "1");
  const auto dead = [&] { return home.controller() == 0; };
  ASSERT_TRUE(eventually(dead, milliseconds(60000)));
  home.thalweg({"daemon", "start"}, milliseconds(30000), {{"THALWEG_FAULT", "after_choice:1"}});
  ASSERT_TRUE(eventually(dead, milliseconds(60000)));
  ASSERT_TRUE(home.wait_for_end(id));
  home.expect_nothing_lost_or_doubled(id);
  const auto trials = home.query(
      "SELECT trial, seed, json_extract(parameters, '$.kind'), json_extract(parameters, '$.x'), "
      "state, attempts FROM trials ORDER BY trial")["rows"];
  ASSERT_EQ(trials.size(), 8u + 4);
  std::map<std::string, double> best{{"a", 2}, {"b", 2}};
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const std::string kind = trials[i][2];
    EXPECT_EQ(trials[i][4], "finished");
    EXPECT_EQ(trials[i][5], 1);
    if (i < 8)
      best[kind] = std::min(best[kind], trials[i][3].get<double>());
    else
      EXPECT_EQ(trials[i][3].get<double>(), best[kind]) << "trial " << i + 1;
    EXPECT_EQ(trials[i][1].get<int>(), i < 8 ? 1 : i < 10 ? 2 : 3);
  }
  const auto chosen =
      home.query("SELECT json_extract(data, '$.reason') FROM events WHERE kind = 'chosen'")["rows"];
  ASSERT_EQ(chosen.size(), 4u) << "each once";
  EXPECT_THAT(chosen[0][0].get<std::string>(), HasSubstr("best of 4 draws: configuration"));

  const auto comparison = home.json({"compare", id});
  ASSERT_EQ(comparison["rows"].size(), 2u) << comparison.dump(2);
  EXPECT_EQ(comparison["rows"][0]["group"]["kind"], "a");
  for (const auto& row : comparison["rows"])
    EXPECT_EQ(row["trials"].size(), 2u) << row.dump();

  // More fresh seeds of the same winners; another budget would be another choice.
  EXPECT_EQ(home.thalweg({"extend", id, "--set", "study.final_seeds=3"}).code, 0);
  ASSERT_TRUE(home.wait_for_end(id));
  const auto added = home.query(
      "SELECT seed, json_extract(parameters, '$.kind'), json_extract(parameters, '$.x') FROM "
      "trials "
      "WHERE trial > 12 ORDER BY trial")["rows"];
  ASSERT_EQ(added.size(), 2u);
  for (const auto& row : added) {
    EXPECT_EQ(row[0], 4);
    EXPECT_EQ(row[2].get<double>(), best[row[1]]);
  }
  const Outcome refused = home.thalweg({"extend", id, "--set", "study.budget=8"});
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.err, HasSubstr("of study only final_seeds can be raised"));
}

TEST(OwnProgram, AKilledProgramIsNamedAndTriedAgain) {
  SweepHome home;
  const std::string id = home.submit(
      script("if [ ! -e \"$THALWEG_FOLDER/../1/seen\" ]; then touch \"$THALWEG_FOLDER/seen\"; "
             "kill -9 $$; fi\necho loss=3",
             "metric_pattern: '(?<loss>\\d+)'\n"),
      "local");
  ASSERT_TRUE(home.wait_for_end(id));
  EXPECT_THAT(reason(home, id + ".1.1"), HasSubstr("killed by signal 9"));
  EXPECT_EQ(attempt(home, id + ".1.2")["state"], "finished");
  home.expect_nothing_lost_or_doubled(id);
}

TEST(OwnProgram, SaysHowItFailed) {
  SweepHome home;
  const std::string id =
      home.submit(script("echo first >&2; echo 'no such data set' >&2; exit 7", kNoRetry), "local");
  ASSERT_TRUE(home.wait_for_end(id));
  EXPECT_THAT(reason(home, id + ".1.1"), HasSubstr("exited with code 7: no such data set"));
  const std::string wrong = home.submit(script("echo 'unknown option --lr' >&2; exit 2"), "local");
  ASSERT_TRUE(home.wait_for_end(wrong));
  EXPECT_THAT(reason(home, wrong + ".1.1"), HasSubstr("exited with code 2: unknown option --lr"));
  const auto attempts = home.query("SELECT count(*) FROM attempts WHERE sweep = " + wrong);
  EXPECT_EQ(attempts["rows"][0][0], 1) << "bad input is not tried again";
  const std::string setup =
      home.submit(script("echo never", "setup: [\"true\", cat /no/such/file]\n"), "local");
  ASSERT_TRUE(home.wait_for_end(setup));
  EXPECT_THAT(read_file(home.attempt_folder(setup + ".1.1") / "stderr.log"),
              HasSubstr("setup failed (exit code 1): cat /no/such/file"));
  EXPECT_EQ(attempt(home, setup + ".1")["state"], "failed");
}

TEST(OwnProgram, SetupAndEnvironmentReachIt) {
  SweepHome home;
  const std::string id = home.submit(
      script("echo rank=$RANK/$WORLD_SIZE local=$LOCAL_RANK/$LOCAL_WORLD_SIZE $WORD $MASTER_ADDR\n"
             "echo loss=1; [ -n \"$MASTER_PORT\" ] && [ -e \"$THALWEG_CONFIG\" ]",
             "setup: [export WORD=hello]\nmetric_pattern: 'loss=(?<loss>\\d+)'\n"
             "resources: {ranks_per_node: 2}\n"),
      "local");
  ASSERT_TRUE(home.wait_for_end(id));
  const std::string out = read_file(home.attempt_folder(id + ".1.1") / "stdout.log");
  EXPECT_THAT(out, HasSubstr("rank=0/2 local=0/2 hello 127.0.0.1"));
  EXPECT_THAT(out, HasSubstr("rank=1/2 local=1/2 hello 127.0.0.1"));
  for (const auto& [mode, lines] : {std::pair("once", 1), std::pair("per_node", 2)}) {
    const std::string other = home.submit(
        script("echo here=$RANK/$WORLD_SIZE node=$GROUP_RANK $PET_NPROC_PER_NODE; echo loss=1",
               std::string("launch: ") + mode + "\nmetric_pattern: 'loss=(?<loss>\\d+)'\n" +
                   "resources: {nodes: 2, ranks_per_node: 2}\n"),
        "local");
    ASSERT_TRUE(home.wait_for_end(other));
    const std::string text = read_file(home.attempt_folder(other + ".1.1") / "stdout.log");
    int count = 0;
    for (std::size_t at = 0; (at = text.find("here=", at)) != text.npos; ++at)
      ++count;
    EXPECT_EQ(count, lines) << mode << text;
  }
}

TEST(OwnProgram, NonsenseIsToldAndDoesNoHarm) {
  SweepHome home;
  const std::string id = home.submit(
      script("printf '%s\\n' '{' '[1]' '{\"metrics\": {\"loss\": \"red\"}}' '{\"metrics\": 3}' "
             "'{\"metrics\": {\"loss\": 4}, \"step\": -1}' '{\"checkpoint\": \"/nowhere\"}' "
             "'{\"metrics\": {\"loss\": 0.5, \"other\": 2}, \"step\": 3}' "
             "> \"$THALWEG_REPORTS\"\n"
             "head -c 3000000 /dev/urandom | tee /dev/stderr; printf '\\xff{\"n\"' ",
             "metric_pattern: '^loss (?<loss>\\d+)'\n"),
      "local");
  ASSERT_TRUE(home.wait_for_end(id));
  home.expect_nothing_lost_or_doubled(id);
  const auto values = home.query("SELECT metric, step, value FROM metrics WHERE metric = 'loss'");
  ASSERT_EQ(values["rows"].size(), 1u) << values.dump();
  EXPECT_EQ(values["rows"][0][2], 0.5);
  const std::string journal = read_file(home.attempt_folder(id + ".1.1") / "journal.jsonl");
  EXPECT_THAT(journal, HasSubstr("a report could not be read (it is no JSON)"));
  EXPECT_THAT(journal, HasSubstr("the checkpoint /nowhere is not there"));
}

TEST(OwnProgram, ASilentOneIsEndedAndSaidSo) {
  SweepHome home;
  const std::string id = home.submit(
      script("echo working; trap '' TERM; sleep 1000 & wait; sleep 1000", kNoRetry + "stall: 2\n"),
      "local");
  ASSERT_TRUE(home.wait_for_end(id, milliseconds(60000)));
  EXPECT_THAT(reason(home, id + ".1.1"), HasSubstr("stalled: nothing came from it for 2 s"));
}

TEST(OwnProgram, WhatItLeavesBehindIsEnded) {
  SweepHome home;
  const std::string id = home.submit(
      script("(setsid sleep 4242 &) ; (setsid sleep 4242 >/dev/null 2>&1 &) ; echo loss=1",
             "metric_pattern: 'loss=(?<loss>\\d+)'\n"),
      "local");
  ASSERT_TRUE(home.wait_for_end(id, milliseconds(60000)));
  EXPECT_EQ(attempt(home, id + ".1")["state"], "finished");
  for (const pid_t pid : processes_named("sleep"))
    EXPECT_THAT(command_line(pid), testing::Not(HasSubstr("4242")));
}

TEST(OwnProgram, AMillionLinesASecondHoldNothingUp) {
  SweepHome home;
  const std::string id = home.submit(
      script(
          "awk 'BEGIN { for (i = 1; i <= 1000000; ++i) print \"step\", i, \"loss\", 1000001 - i }'",
          "metric_pattern: '^step (?<step>\\d+) loss (?<loss>\\d+)'\n"),
      "local");
  ASSERT_TRUE(home.wait_for_end(id, milliseconds(180000)));
  home.expect_nothing_lost_or_doubled(id);
  const auto last = home.query("SELECT step, value FROM latest_metrics WHERE metric = 'loss'");
  ASSERT_EQ(last["rows"].size(), 1u) << last.dump();
  EXPECT_EQ(last["rows"][0][0], 1000000) << "the last value is always kept";
  EXPECT_EQ(last["rows"][0][1], 1);
  const auto count = home.query("SELECT count(*) FROM metrics WHERE metric = 'loss'");
  EXPECT_LT(count["rows"][0][0].get<int>(), 100000) << "the record must not be flooded";
  EXPECT_THAT(read_file(home.attempt_folder(id + ".1.1") / "journal.jsonl"),
              HasSubstr("is reported more than 200 times a second"));
}

TEST(OwnProgram, StopsAtTheTargetAndWithoutProgress) {
  SweepHome home;
  const std::string id = home.submit(training(1, 100000, 0.01, "stop: {at: target}\n"), "local");
  ASSERT_TRUE(home.wait_for_end(id));
  home.expect_nothing_lost_or_doubled(id);
  EXPECT_EQ(home.json({"compare", id})["rows"].size(), 2u);
  EXPECT_THAT(read_file(home.attempt_folder(id + ".1.1") / "journal.jsonl"),
              HasSubstr("val/loss reached its target 0.0001 at step 44"));
  const std::string flat =
      home.submit(script("for i in $(seq 1000); do echo loss 1; sleep 0.05; done",
                         "metric_pattern: 'loss (?<loss>\\d+)'\nstop: {patience: 5}\n"),
                  "local");
  ASSERT_TRUE(home.wait_for_end(flat));
  EXPECT_EQ(attempt(home, flat + ".1")["state"], "finished");
  EXPECT_THAT(read_file(home.attempt_folder(flat + ".1.1") / "journal.jsonl"),
              HasSubstr("5 reports of loss without a better one than 1"));
}

TEST(OwnProgram, ASignalMakesAllRanksStopWithACheckpointAndGoOn) {
  SweepHome home;
  // As a backend does it shortly before the end of the time.
  const std::string id = home.submit(training(2, 150, 0.05), "local");
  ASSERT_TRUE(eventually([&] { return home.has_checkpoint(id) && !home.engines(id).empty(); },
                         milliseconds(60000)));
  for (const pid_t rank : home.engines(id))
    kill(rank, SIGUSR1);
  ASSERT_TRUE(home.wait_for_end(id));
  home.expect_nothing_lost_or_doubled(id);
  expect_curves(home, id, 150);
  const auto stopped = home.query(
      "SELECT s.resumed_step, max(m.step) FROM starts s JOIN attempts b ON b.sweep = s.sweep AND "
      "b.trial = s.trial AND s.attempt = b.attempt + 1 JOIN metrics m ON m.sweep = b.sweep AND "
      "m.trial = b.trial AND m.attempt = b.attempt WHERE b.state = 'stopped' AND "
      "m.metric = 'val/loss' GROUP BY b.trial");
  ASSERT_FALSE(stopped["rows"].empty());
  for (const auto& row : stopped["rows"])
    EXPECT_EQ(row[0], row[1]) << "the checkpoint must be that of the last step";
}

TEST(OwnProgram, ALostRankIsNamedWhateverTheOthersMakeOfIt) {
  SweepHome home;
  const std::string id = home.submit(
      script("echo loss 1; if [ $RANK = 1 ]; then sleep 1; echo broken >&2; exit 3; fi; sleep 1000",
             kNoRetry + "metric_pattern: 'loss (?<loss>\\d+)'\nresources: {ranks_per_node: 2}\n"),
      "local");
  ASSERT_TRUE(home.wait_for_end(id));
  EXPECT_EQ(attempt(home, id + ".1")["state"], "failed");
  EXPECT_THAT(reason(home, id + ".1.1"), testing::AllOf(HasSubstr("rank 1"), HasSubstr("broken")));
}

TEST(OwnProgram, RanksEndWhereAnotherHasFailedAndNobodyEndsThem) {
  // Without a launcher, as where srun passes over a task that is only starting.
  const auto end_of_waiting = [](int failing, int code) {
    TempDir dir;
    const auto file = dir.path() / "trial.yaml";
    write_file(file,
               "train: {}\nresources: {ranks_per_node: 2}\nprogram:\n  command: [bash, -c, "
               "\"[ $RANK = " +
                   std::to_string(failing) + " ] && exit " + std::to_string(code) +
                   "; exec sleep 3600\"]\n  directory: " + dir.path().string() + "\n");
    const auto rank = [&](int number) {
      return std::vector<std::string>{"env", "PMIX_RANK=" + std::to_string(number),
                                      THALWEG_BIN_DIR "/thalweg-train", file.string()};
    };
    const pid_t other = start(rank(failing));
    const Outcome waiting = run(rank(1 - failing));
    waitpid(other, nullptr, 0);
    EXPECT_FALSE(waiting.timed_out);
    EXPECT_EQ(waiting.code, 1) << waiting.err;
    EXPECT_THAT(waiting.err, HasSubstr("rank " + std::to_string(failing) +
                                       ": the program exited with code " + std::to_string(code)));
  };
  std::vector<std::thread> all;  // each takes 10 to 15 seconds
  for (const int failing : {0, 1})
    for (const int code : {2, 3})
      all.emplace_back(end_of_waiting, failing, code);
  for (std::thread& each : all)
    each.join();
}

TEST(OwnProgram, AllRanksStopWhereTheSweepsStopIsFulfilled) {
  SweepHome home;
  const std::string id = home.submit(
      script("if [ $RANK = 1 ]; then sleep 1000; fi; while true; do echo loss 1; sleep 0.05; done",
             "metric_pattern: 'loss (?<loss>\\d+)'\nstop: {patience: 5}\n"
             "resources: {ranks_per_node: 2}\n"),
      "local");
  ASSERT_TRUE(home.wait_for_end(id, milliseconds(60000)));
  EXPECT_EQ(attempt(home, id + ".1")["state"], "finished") << reason(home, id + ".1.1");
}

TEST(OwnProgram, EventFilesOfTensorBoardAreRead) {
  SweepHome home;
  const std::string id = home.submit("command: [python3, " + kData +
                                         "event_files.py, \"${folder}/logs\"]\ntensorboard: logs\n"
                                         "metric: {name: val/loss, target: 0.1}\n",
                                     "local");
  ASSERT_TRUE(home.wait_for_end(id));
  home.expect_nothing_lost_or_doubled(id);
  const auto values = home.query("SELECT count(*), max(step), min(value) FROM metrics");
  EXPECT_EQ(values["rows"][0][0], 40);
  EXPECT_EQ(values["rows"][0][1], 40);
  EXPECT_NEAR(values["rows"][0][2].get<double>(), 1.0 / 40, 1e-8);
}

TEST(OwnProgram, InCReportsByTheHeader) {
  SweepHome home;
  RunOptions options;
  options.directory = home.folder();
  const Outcome compiled =
      run({"cc", "-std=c99", "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Wextra", "-Werror",
           "-pedantic", "-I", std::string(THALWEG_SOURCE_DIR) + "/packaging/include",
           kData + "train.c", "-o", "train", "-lm"},
          options);
  if (compiled.code == 127) GTEST_SKIP() << "there is no C compiler";
  ASSERT_EQ(compiled.code, 0) << compiled.err;
  const Outcome as_cpp =
      run({"c++", "-std=c++11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c++", "-I",
           std::string(THALWEG_SOURCE_DIR) + "/packaging/include", kData + "train.c"},
          options);
  EXPECT_EQ(as_cpp.code, 0) << as_cpp.err;
  write_file(home.folder() / "sweep.yaml",
             "program: train\ncommand: [\"${program}\", \"0.5\", \"30\"]\n"
             "metric: {name: val/loss, goal: minimize}\n");
  const Outcome outcome = home.thalweg({"run", "sweep.yaml", "--backend", "local"});
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  const auto values = home.query("SELECT step, value FROM metrics WHERE metric = 'val/loss'");
  ASSERT_EQ(values["rows"].size(), 30u);
  EXPECT_DOUBLE_EQ(values["rows"][29][1].get<double>(), std::pow(0.25, 30));
  EXPECT_THAT(read_file(home.attempt_folder("1.1.1") / "journal.jsonl"), HasSubstr("weight.txt"));
}

TEST(OwnProgram, RunsInAVirtualEnvironment) {
  SweepHome home;
  RunOptions options;
  options.directory = home.folder();
  const Outcome made = run({"python3", "-m", "venv", "--without-pip", "venv"}, options);
  if (made.code != 0) GTEST_SKIP() << "python3 cannot make one: " << made.out << made.err;
  write_file(home.folder() / "train.py",
             "import sys, thalweg\n"
             "assert sys.prefix.endswith('/venv'), sys.prefix\n"
             "thalweg.log({'loss': thalweg.init().config.x})\n");
  const std::string id = home.submit(
      "program: train.py\nsetup: [source venv/bin/activate]\nmetric: {name: loss}\n"
      "config: {x: 3}\n",
      "local");
  ASSERT_TRUE(home.wait_for_end(id));
  EXPECT_EQ(attempt(home, id + ".1")["state"], "finished") << reason(home, id + ".1.1");
}

TEST(OwnProgram, ValidateSaysWhatRunsAndWhatIsMissing) {
  SweepHome home;
  write_file(home.folder() / "good.yaml", training(1, 10, 0, "setup: [module load cuda]\n"));
  const Outcome good = home.thalweg({"validate", "good.yaml"});
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_THAT(good.out, HasSubstr("train.py --seed=1 --steps=10 --pause=0.0 --lr=0.1"));
  EXPECT_THAT(good.out,
              HasSubstr("\"module load cuda\": only the nodes can show whether it works"));
  write_file(home.folder() / "bad.yaml",
             "program: nowhere.py\ninterpreter: python9\nsetup: [source venv/bin/activate]\n"
             "metric: {name: loss}\n");
  const Outcome bad = home.thalweg({"submit", "--dry-run", "bad.yaml", "--backend", "local"});
  EXPECT_EQ(bad.code, 2);
  EXPECT_THAT(bad.err, HasSubstr("bad.yaml:1: program: found \"nowhere.py\", expected a file"));
  EXPECT_THAT(bad.err, HasSubstr("bad.yaml:3: setup: \"source venv/bin/activate\": there is no"));
}

TEST(OwnProgram, ValidateSaysThatACommandGivesNoParameters) {
  SweepHome home;
  const auto notes = [&](const std::string& command, const std::string& more) {
    write_file(home.folder() / "f.yaml", "command: " + command +
                                             "\nmetric: {name: loss}\n"
                                             "metric_pattern: 'loss (?<loss>.+)'\n" +
                                             more);
    const Outcome outcome = home.thalweg({"validate", "f.yaml"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  };
  const std::string grid = "method: grid\nparameters: {lr: {values: [1, 2]}}\n";
  const auto said = HasSubstr("f.yaml:1: command: it has no ${args}: ");
  const auto nothing = testing::Not(HasSubstr("it has no ${args}"));
  write_file(home.folder() / "plain.sh", "echo loss 1\n");
  write_file(home.folder() / "asks.sh", "cat $THALWEG_CONFIG\n");
  EXPECT_THAT(notes("[sh, plain.sh]", grid), said);
  EXPECT_THAT(notes("[sh, plain.sh, '${seed}']", grid), said);
  EXPECT_THAT(notes("[sh, plain.sh]", "seeds: 3\n"), said);
  EXPECT_THAT(notes("[sh, plain.sh, '${seed}']", "seeds: 3\n"), nothing);
  EXPECT_THAT(notes("[sh, plain.sh, '${args}']", grid), nothing);
  EXPECT_THAT(notes("[sh, plain.sh, '--config=${args_json_file}']", grid), nothing);
  EXPECT_THAT(notes("[sh, asks.sh]", grid), nothing);
  EXPECT_THAT(notes("[python3, -c, 'import thalweg']", grid), nothing);
  EXPECT_THAT(notes("[sh, plain.sh]", ""), nothing) << "there is one trial";
}

TEST(OwnProgram, ValidateSaysWhatACommandLacks) {
  SweepHome home;
  write_file(home.folder() / "train.py", "");
  write_file(home.folder() / "srun", "#!/bin/sh\n");
  fs::permissions(home.folder() / "srun", fs::perms::owner_all);
  const auto validate = [&](const std::string& command) {
    write_file(home.folder() / "f.yaml", "program: train.py\ncommand: [" + command +
                                             "]\nmetric: {name: loss}\nconfig: {flag: true}\n");
    return home.thalweg({"validate", "f.yaml"});
  };
  EXPECT_THAT(
      validate("\"${args_no_boolean_flags}\"").err,
      HasSubstr("f.yaml:2: command: it begins with the argument --flag, expected a program"));
  const std::string srun = (home.folder() / "srun").string();
  for (const std::string& words : {srun, "\"${env}\", " + srun}) {
    const Outcome outcome = validate(words + ", python3, \"${program}\"");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("srun asks Slurm for nodes")) << words;
  }
  EXPECT_THAT(validate("python3, \"${program}\", srun").out,
              testing::Not(HasSubstr("srun asks Slurm for nodes")));
  write_file(home.folder() / "f.yaml",
             "program: train.py\nmetric: {name: loss}\nslurm: {partition: main}\ncommand: [" +
                 srun + ", python3, \"${program}\"]\n");
  EXPECT_THAT(home.thalweg({"validate", "f.yaml"}).out,
              testing::Not(HasSubstr("srun asks Slurm for nodes")));
}

/// Trials that run at once and write files of one name.
TEST(OwnProgram, RunsInAFolderOfItsOwn) {
  SweepHome home;
  write_file(home.folder() / "env.sh", "export FROM=setup\n");
  write_file(home.folder() / "train.py",
             "import os, sys, thalweg\n"
             "open('model.txt', 'x').write(sys.argv[1])\n"
             "files = [os.readlink('/proc/self/fd/' + f) for f in os.listdir('/proc/self/fd')\n"
             "         if os.path.exists('/proc/self/fd/' + f)]\n"
             "thalweg.log({'loss': float(open('model.txt').read().split('=')[1]),\n"
             "             'nulls': files.count('/dev/null'),\n"
             "             'set_up': float(os.environ.get('FROM') == 'setup')}, step=1)\n");
  for (const std::string setup : {"", "setup: [source env.sh]\n"}) {
    const std::string id = home.submit(
        "program: train.py\nchdir: \"${folder}/work\"\nmethod: grid\nmetric: {name: loss}\n"
        "parameters: {a: {values: [1, 2, 3]}}\n" +
            setup,
        "local");
    ASSERT_TRUE(home.wait_for_end(id));
    for (int trial = 1; trial <= 3; ++trial) {
      const std::string name = id + "." + std::to_string(trial) + ".1";
      const nlohmann::json shown = attempt(home, name);
      EXPECT_EQ(shown["state"], "finished") << reason(home, name);
      EXPECT_EQ(test::read_file(fs::path(shown.at("folder").get<std::string>()) / "work/model.txt"),
                "--a=" + std::to_string(trial));
    }
    const auto values =
        home.query("SELECT trial, metric, value FROM latest_metrics WHERE sweep = " + id)["rows"];
    for (const auto& row : values) {
      if (row[1] == "loss") {
        EXPECT_EQ(row[2], row[0]);
      } else if (row[1] == "nulls") {
        EXPECT_EQ(row[2], 1) << "its stdin alone";
      } else if (row[1] == "set_up") {
        EXPECT_EQ(row[2], setup.empty() ? 0 : 1);
      }
    }
    EXPECT_EQ(values.size(), 9u);
  }
  EXPECT_FALSE(fs::exists(home.folder() / "model.txt"));
}

/// Else `70,80` is a sweep of its own, and null the text None.
TEST(OwnProgram, ValidateSaysWhichMacroQuotesForHydra) {
  SweepHome home;
  const auto notes = [&](const std::string& macro, const std::string& script) {
    write_file(home.folder() / "app.py", script);
    write_file(home.folder() / "f.yaml",
               "program: app.py\ncommand: [python3, \"${program}\", \"" + macro +
                   "\"]\nmetric: {name: loss}\nmethod: grid\nparameters: {a: {values: [1, 2]}}\n");
    const Outcome outcome = home.thalweg({"validate", "f.yaml"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  };
  const auto said = HasSubstr("app.py imports hydra: ${args_override_hydra} quotes values");
  EXPECT_THAT(notes("${args_no_hyphens}", "import hydra, thalweg\n"), said);
  EXPECT_THAT(notes("${args_no_hyphens}", "from hydra.utils import x\n"), said);
  EXPECT_THAT(notes("${args_override_hydra}", "import hydra\n"), testing::Not(said));
  EXPECT_THAT(notes("${args_no_hyphens}", "import hydrate\n"), testing::Not(said));
}

/// Rows 1 and 2 differ by less than their noise, row 40 by much. A controller dies with the first
/// look half written, the next one after the second.
TEST(OwnProgram, LooksGiveMoreSeedsToWhatMayBeTheBest) {
  SweepHome home;
  const std::string text =
      "command:\n- bash\n- -c\n- |\n"
      "    row=${1##*=}\n"
      "    echo score=$((row + (${seed} * 7 * row) % 13))\n"
      "- \"${args}\"\n"
      "name: looks\nmethod: grid\nmetric: {name: score, goal: minimize}\n"
      "metric_pattern: 'score=(?<score>\\d+)'\n"
      "seeds: {start: 6, add: 2, cap: 10}\nparameters: {row: {values: [1, 2, 40]}}\n";
  write_file(home.folder() / "looks.yaml", text);
  const Outcome valid = home.thalweg({"validate", "looks.yaml"});
  EXPECT_THAT(valid.out, HasSubstr("seeds: looks after 6, 8 and 10 seeds of each of 3 "
                                   "configurations"))
      << valid.err;
  EXPECT_THAT(valid.out, HasSubstr("18 to 30 trials"));
  home.thalweg({"daemon", "start"}, milliseconds(30000), {{"THALWEG_FAULT", "in_look:1"}});
  const std::string id = home.submit(text, "local");
  ASSERT_TRUE(eventually([&] { return home.controller() == 0; }, milliseconds(60000)));
  home.thalweg({"daemon", "start"}, milliseconds(30000), {{"THALWEG_FAULT", "after_look:2"}});
  ASSERT_TRUE(eventually([&] { return home.controller() == 0; }, milliseconds(60000)));
  ASSERT_TRUE(home.wait_for_end(id));
  home.expect_nothing_lost_or_doubled(id);
  EXPECT_EQ(home.query("SELECT configuration, count(*), max(seed) FROM trials GROUP BY 1 ORDER BY "
                       "1")["rows"],
            (nlohmann::json{{1, 10, 10}, {2, 10, 10}, {3, 6, 6}}));
  EXPECT_EQ(home.query("SELECT count(*) FROM events WHERE kind = 'seed_look'")["rows"][0][0], 3);
  const Outcome compared = home.thalweg({"compare", id});
  EXPECT_THAT(compared.out, HasSubstr("worse (p=0.019)"));
  EXPECT_THAT(compared.out, HasSubstr("at the looks after 6, 8 and 10 seeds"));
  const Outcome shown = home.thalweg({"show", id});
  EXPECT_THAT(shown.out, HasSubstr("3 of 3 looks taken, 1 of 3 configurations closed"));
  EXPECT_THAT(shown.out, HasSubstr("configuration 3 (row=40) got no more seeds after look 1"));
  const Outcome more = home.thalweg({"extend", id, "--seeds", "+3"});
  EXPECT_THAT(more.err, HasSubstr("were fixed before it started"));
  const Outcome other = home.thalweg({"extend", id, "--set", "parameters.row.values=[1, 2, 3]"});
  EXPECT_THAT(other.err, HasSubstr("neither trials nor looks can be added"));
}

TEST(OwnProgram, SeedsThatWereAddedAfterALookAreNoted) {
  SweepHome home;
  const std::string id = home.submit(
      "command: [bash, -c, \"echo score=$((RANDOM % 9))\"]\nname: added\nmethod: grid\n"
      "metric: {name: score, goal: minimize}\nmetric_pattern: 'score=(?<score>\\d+)'\n"
      "seeds: 2\nparameters: {row: {values: [1, 2]}}\n",
      "local");
  const auto notes_with = [&](const std::string& seeds) {
    EXPECT_EQ(home.thalweg({"extend", id, "--seeds", seeds}).code, 0);
    EXPECT_TRUE(home.wait_for_end(id));
    return home.thalweg({"compare", id}).out;
  };
  ASSERT_TRUE(home.wait_for_end(id));
  EXPECT_THAT(notes_with("+2"), Not(HasSubstr("seeds were added"))) << "two tell nothing";
  EXPECT_THAT(notes_with("+1"), HasSubstr("seeds were added once when there were enough"));
  EXPECT_THAT(notes_with("+1"), HasSubstr("seeds were added 2 times when there were enough"));
}

/// Else every trial would run, and none would report.
TEST(OwnProgram, ValidateSaysThatAScriptForWandbNeedsTheShim) {
  SweepHome home;
  const fs::path script = home.folder() / "train.py";
  const auto notes = [&](const std::string& more) {
    write_file(home.folder() / "f.yaml", "program: train.py\nmetric: {name: loss}\n" + more);
    const Outcome outcome = home.thalweg({"validate", "f.yaml"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  };
  const auto said = HasSubstr(
      "f.yaml:1: program: train.py imports wandb: env: {THALWEG_WANDB: shim} has its values "
      "reported here");
  for (const char* line : {"import wandb", "  from wandb.sdk import x", "import wandb as w, os"}) {
    write_file(script, std::string("import os\n") + line + "\n");
    EXPECT_THAT(notes(""), said) << line;
    for (const char* way : {"env: {THALWEG_WANDB: shim}\n", "tensorboard: logs\n",
                            "metric_pattern: 'loss (?<loss>.+)'\n"})
      EXPECT_THAT(notes(way), testing::Not(HasSubstr("imports wandb"))) << way;
  }
  for (const char* other :
       {"import wandb\nimport thalweg\n", "import wandbx\n", "# import wandb\n"}) {
    write_file(script, other);
    EXPECT_THAT(notes(""), testing::Not(HasSubstr("imports wandb"))) << other;
  }
}

}  // namespace
}  // namespace thalweg::test
