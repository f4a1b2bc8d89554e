// Commands that do something, through the real program: submit, run, watch, cancel, retry, logs,
// daemon, validate.
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "tests/cli/command_fixture.h"

namespace thalweg::test {
namespace {

namespace fs = std::filesystem;

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class CliActions : public CommandTest {
 protected:
  std::string file_ = source_file("valid/small.yaml");
  json submitted_{{"id", "12"},          {"name", "small"}, {"trials", 8},
                  {"configurations", 4}, {"duplicates", 1}, {"backend", "local"},
                  {"notes", {"a note"}}};
};

TEST_F(CliActions, SubmitSendsTheFile) {
  controller().answer("POST /v1/sweeps", submitted_);
  const Outcome outcome = thalweg({"submit", file_, "--backend", "slurm"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, StartsWith("sweep 12 small: 8 trials (4 configurations, 1 duplicate "
                                      "left out) on local\nnote: a note\n"));
  EXPECT_THAT(outcome.out, HasSubstr("thalweg watch 12"));
  const json asked = controller().requests().at(1).body;
  EXPECT_EQ(asked["text"], read_file(file_));
  EXPECT_EQ(asked["file_name"], file_);
  EXPECT_EQ(asked["backend"], "slurm");
  EXPECT_FALSE(asked.contains("dry_run"));
}

TEST_F(CliActions, SubmitSendsTheFolderAndTheEnvironment) {
  controller().answer("POST /v1/sweeps", submitted_);
  RunOptions with = options();
  with.env["THALWEG_DATA"] = "my data";
  with.env["MY_TOKEN"] = "a=b";
  with.env["NOT_UTF8"] = "\xff";
  ASSERT_EQ(run({program(), "submit", file_}, with).code, 0);
  const json asked = controller().requests().at(1).body;
  EXPECT_EQ(asked["directory"], std::filesystem::path(file_).parent_path().string());
  const auto sent = asked["environment"].get<std::vector<std::string>>();
  EXPECT_THAT(sent, testing::Contains("MY_TOKEN=a=b"));
  const auto here = std::filesystem::canonical(with.directory);
  EXPECT_THAT(sent, testing::Contains("THALWEG_DATA=" + (here / "my data").string()));
  EXPECT_THAT(sent, Not(testing::Contains(StartsWith("NOT_UTF8"))));
}

TEST_F(CliActions, DryRunShowsThePlan) {
  json plan = submitted_;
  plan.erase("id");
  plan["trials"] = {{{"id", ".1"},
                     {"seed", 1},
                     {"parameters", {{"optimizer.lr", 0.1}}},
                     {"resources", {{"nodes", 2}, {"ranks_per_node", 1}}}}};
  plan["script"] = "#!/bin/sh\nexec srun thalweg-train trial.yaml\n";
  controller().answer("POST /v1/sweeps", plan);
  const std::string out = thalweg({"submit", "--dry-run", file_}).out;
  EXPECT_THAT(out, HasSubstr("lr=0.1"));
  EXPECT_THAT(out, HasSubstr("exec srun thalweg-train trial.yaml"));
  EXPECT_THAT(out, EndsWith("Nothing was submitted (--dry-run).\n"));
  EXPECT_THAT(out, Not(HasSubstr("would start")));
  plan["cost"] = "at most 12.5 node-hours (5 trials x 1 node x 02:30:00)";
  plan["forecasts"] = {{{"trial", ".1"},
                        {"trials", 3},
                        {"start", 1760000000},
                        {"node_list", "n[1-2]"},
                        {"partition", "main"},
                        {"message", ""}},
                       {{"trial", ".4"},
                        {"trials", 1},
                        {"start", 0},
                        {"message", "Slurm's controller does not answer"}}};
  controller().answer("POST /v1/sweeps", plan);
  const std::string told = thalweg({"submit", "--dry-run", file_}).out;
  EXPECT_THAT(told, HasSubstr("trial .1 (and 2 more like it): would start 2025-10-09 "));
  EXPECT_THAT(told, HasSubstr(" on n[1-2] of partition main\n"));
  EXPECT_THAT(told, HasSubstr("trial .4: when it would start is not known: Slurm's controller"));
  EXPECT_THAT(told, HasSubstr("The sweep takes at most 12.5 node-hours ("));
  EXPECT_EQ(controller().requests().at(1).body["dry_run"], true);
  EXPECT_THAT(thalweg({"submit", "--dry-run", "--csv", file_}).out,
              HasSubstr(".1,1,\"{\"\"optimizer.lr\"\":0.1}\",2,1\n"));
  plan["trials"][0]["resources"] = {{"nodes", 8}, {"min_nodes", 2}, {"ranks_per_node", 1}};
  controller().answer("POST /v1/sweeps", plan);
  EXPECT_THAT(thalweg({"submit", "--dry-run", "--csv", file_}).out, HasSubstr(",2-8,1\n"));
}

TEST_F(CliActions, RunGoesToTheComparison) {
  controller().answer("POST /v1/sweeps", submitted_);
  controller().stream("GET /v1/watch?id=12", {sample("sweep"), sample("sweep_finished")});
  controller().answer("GET /v1/sweeps/12/compare", sample("compare"));
  const Outcome outcome = thalweg({"run", file_});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              HasSubstr("sweep 12 fashion-optimizers finished after 1:24: 8/8 trials finished"));
  EXPECT_THAT(outcome.out, HasSubstr("worse (intervals apart)"));
  const std::string next = outcome.out.substr(outcome.out.find("Next:"));
  EXPECT_EQ(std::count(next.begin(), next.end(), '\n'), 1 + 3) << next;
  EXPECT_THAT(next, HasSubstr("thalweg compare 12 --by name --best-over decay"));
  EXPECT_THAT(next, HasSubstr("thalweg report 12"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("\x1b")));
}

TEST_F(CliActions, RunEndsWithTheSeedsThatAreMissing) {
  json compared = sample("compare");
  compared["notes"] = {"for a verdict: `seeds: 5`; `thalweg extend 12 --seeds +3` adds the rest"};
  controller().answer("POST /v1/sweeps", submitted_);
  controller().stream("GET /v1/watch?id=12", {sample("sweep_finished")});
  controller().answer("GET /v1/sweeps/12/compare", compared);
  EXPECT_THAT(thalweg({"run", file_}).out, HasSubstr("Next:\n  thalweg extend 12 --seeds +3 "));
}

TEST_F(CliActions, RunFailsWhereATrialFailed) {
  json last = sample("sweep_finished");
  last["state"] = "failed";
  last["trials"][1]["state"] = "failed";
  controller().answer("POST /v1/sweeps", submitted_);
  controller().stream("GET /v1/watch?id=12", {last});
  controller().answer("GET /v1/sweeps/12/compare", sample("compare"));
  const Outcome outcome = thalweg({"run", file_});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("thalweg retry 12  run the failed trials again"));
  last["trials"][1]["state"] = "cancelled";  // by a limit
  controller().stream("GET /v1/watch?id=12", {last});
  EXPECT_THAT(thalweg({"run", file_}).out, HasSubstr("thalweg retry 12 --state cancelled"));
}

TEST_F(CliActions, RunJsonIsOneDocument) {
  controller().answer("POST /v1/sweeps", submitted_);
  controller().stream("GET /v1/watch?id=12", {sample("sweep_finished")});
  controller().answer("GET /v1/sweeps/12/compare", sample("compare"));
  const json all = thalweg_json({"run", file_, "--json"});
  EXPECT_EQ(all["submitted"], submitted_);
  EXPECT_EQ(all["sweep"], sample("sweep_finished"));
  EXPECT_EQ(all["comparison"], sample("compare"));
}

TEST_F(CliActions, WatchJsonIsOneSnapshotALine) {
  controller().stream("GET /v1/watch?id=12", {sample("sweep"), sample("sweep_finished")});
  const Outcome outcome = thalweg({"watch", "12", "--json"});
  EXPECT_EQ(outcome.code, 0);
  std::istringstream lines(outcome.out);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(json::parse(line), sample("sweep"));
  std::getline(lines, line);
  EXPECT_EQ(json::parse(line), sample("sweep_finished"));
}

TEST_F(CliActions, WatchOfATrialEndsWithIt) {
  controller().answer("GET /v1/trials/12.2", sample("trial"));
  controller().stream("GET /v1/watch?id=12", {sample("sweep")}, false);  // the sweep goes on
  const Outcome outcome = thalweg({"watch", "12.2"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_FALSE(outcome.timed_out);
}

TEST_F(CliActions, CancelAndRetry) {
  controller().answer("POST /v1/cancel", {{"cancelled", 3}});
  controller().answer("POST /v1/retry", {{"retried", 1}});
  EXPECT_THAT(thalweg({"cancel", "12"}).out, StartsWith("3 trials cancelled"));
  EXPECT_THAT(thalweg({"retry", "12.2", "--state", "failed,cancelled"}).out,
              StartsWith("1 trial runs again"));
  std::vector<json> posted;
  for (const auto& request : controller().requests())
    if (request.method == "POST") posted.push_back(request.body);
  EXPECT_EQ(posted.at(0), (json{{"id", "12"}}));
  EXPECT_EQ(posted.at(1), (json{{"id", "12.2"}, {"states", {"failed", "cancelled"}}}));
  EXPECT_EQ(thalweg({"retry", "12", "--state", "finished"}).code, 2);
  controller().answer("POST /v1/retry", {{"retried", 13}, {"left_cancelled", 27}});
  EXPECT_THAT(thalweg({"retry", "12"}).out,
              testing::AllOf(HasSubstr("thalweg retry 12 --state cancelled"),
                             HasSubstr("also 27 trials that were cancelled or not run")));
}

TEST_F(CliActions, WeightsComeFromTheFolderOfTheLastAttempt) {
  json trial = sample("trial");
  const fs::path attempt = folder("runs/12/2/2");
  fs::create_directories(attempt);
  trial["attempts"].back()["folder"] = attempt.string();
  controller().answer("GET /v1/trials/12.2", trial);
  EXPECT_THAT(thalweg({"export", "12.2", "-o", "m.npz"}).err, HasSubstr("is not on this machine"));
  write_file(attempt / "trial.yaml", "");
  const auto asked = [&] {
    std::ifstream in(folder("asked"));
    std::string line;
    std::getline(in, line);
    return line;
  };
  EXPECT_EQ(thalweg({"export", "12.2", "-o", "m.npz"}).code, 0);
  EXPECT_EQ(asked(), "--export " + fs::weakly_canonical(folder("m.npz")).string() + " " +
                         (attempt / "trial.yaml").string());
  EXPECT_EQ(thalweg({"evaluate", "12.2", "--json", "--checkpoint", "/c.ckpt"}).code, 0);
  EXPECT_EQ(asked(), "--evaluate --json --checkpoint /c.ckpt " + (attempt / "trial.yaml").string());
  EXPECT_EQ(thalweg({"evaluate", "12.2", "--best"}).code, 0);
  EXPECT_EQ(asked(), "--evaluate --best " + (attempt / "trial.yaml").string());
  EXPECT_EQ(thalweg({"export", "12.2"}).code, 2);
  EXPECT_EQ(thalweg({"export", "12", "-o", "m.npz"}).code, 2);
  trial["attempts"] = json::array();
  controller().answer("GET /v1/trials/12.2", trial);
  EXPECT_THAT(thalweg({"evaluate", "12.2"}).err, HasSubstr("has not started yet"));
}

TEST_F(CliActions, LogsOfATrialAreItsLastAttempts) {
  controller().answer("GET /v1/trials/12.2", sample("trial"));
  controller().answer_text("GET /v1/attempts/12.2.2/log?stream=stderr&offset=0", "line one\n",
                           "X-Next-Offset: 9\r\nX-Ended: 1\r\n");
  controller().answer_text("GET /v1/attempts/12.2.2/log?stream=stderr&offset=9", "",
                           "X-Next-Offset: 9\r\nX-Ended: 1\r\n");
  const Outcome outcome = thalweg({"logs", "12.2", "--stderr"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "line one\n");
}

TEST_F(CliActions, LogsAreBothStreams) {
  controller().answer("GET /v1/trials/12.2", sample("trial"));
  const auto whole = [&](const std::string& stream, const std::string& text) {
    const std::string path = "GET /v1/attempts/12.2.2/log?stream=" + stream + "&offset=";
    const std::string head = "X-Next-Offset: " + std::to_string(text.size()) + "\r\nX-Ended: 1\r\n";
    controller().answer_text(path + "0", text, head);
    if (!text.empty()) controller().answer_text(path + std::to_string(text.size()), "", head);
  };
  whole("stdout", "from setup\n");
  whole("stderr", "from the engine\n");
  const Outcome both = thalweg({"logs", "12.2"});
  EXPECT_EQ(both.out, "from setup\nfrom the engine\n");
  EXPECT_THAT(both.err, HasSubstr("==> 12.2.2 stdout <=="));
  EXPECT_THAT(both.err, HasSubstr("==> 12.2.2 stderr <=="));
  EXPECT_EQ(thalweg({"logs", "12.2", "--stdout"}).out, "from setup\n");
  whole("stdout", "");
  whole("stderr", "");
  EXPECT_EQ(thalweg({"logs", "12.2"}).err, "12.2.2 wrote nothing\n");
}

TEST_F(CliActions, LogsBeforeAnyAttempt) {
  json trial = sample("trial");
  trial["attempts"] = json::array();
  trial["state"] = "pending";
  trial["progress"] = {{"waiting_for", "free cores"}};
  controller().answer("GET /v1/trials/12.2", trial);
  const Outcome outcome = thalweg({"logs", "12.2"});
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(outcome.err, HasSubstr("12.2 has no attempt yet: it is pending (free cores)"));
}

class CliDaemon : public CommandTest {};

TEST_F(CliDaemon, StatusDoesNotStartOne) {
  const Outcome outcome = thalweg({"daemon", "status"});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.out, HasSubstr("no controller runs"));
  EXPECT_EQ(json::parse(thalweg({"daemon", "status", "--json"}).out)["running"], false);
}

TEST_F(CliDaemon, StatusOfARunningOne) {
  controller();
  const Outcome outcome = thalweg({"daemon", "status"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("process 4242 on n0"));
  EXPECT_THAT(outcome.out, HasSubstr("2 cores"));
  EXPECT_EQ(thalweg_json({"daemon", "status", "--json"})["running"], true);
}

TEST_F(CliDaemon, StatusTellsWhatKeepsItFromWorking) {
  json ping = sample("ping");
  ping["troubles"] = {"the record cannot be written: database or disk is full"};
  controller().answer("GET /v1/ping", ping);
  EXPECT_THAT(thalweg({"daemon", "status"}).out,
              HasSubstr("the record cannot be written: database or disk is full"));
}

TEST_F(CliDaemon, StatusTellsWhatIsTheAskersOnASite) {
  json ping = sample("ping");
  ping["site"] = {{"operator", false},
                  {"quota",
                   {{"nodes", 3},
                    {"max_nodes", 16},
                    {"open_trials", 1240},
                    {"trials", 1000000},
                    {"node_hours_used", 12.54},
                    {"node_hours", 0},
                    {"days", 30}}}};
  controller().answer("GET /v1/ping", ping);
  EXPECT_THAT(thalweg({"daemon", "status"}).out,
              HasSubstr("3 of 16 nodes, 1240 of 1000000 open trials, 12.5 node-hours in 30 days"));
}

TEST_F(CliDaemon, StopWhereNoneRunsIsFine) {
  const Outcome outcome = thalweg({"daemon", "stop"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "no controller runs\n");
}

TEST_F(CliDaemon, LogsAreTheEndOfTheFile) {
  EXPECT_EQ(thalweg({"daemon", "logs"}).code, 4);
  write_file(folder("home/controller.log"), "one\ntwo\nthree\n");
  EXPECT_EQ(thalweg({"daemon", "logs"}).out, "one\ntwo\nthree\n");
  EXPECT_EQ(thalweg({"daemon", "logs", "-n", "2"}).out, "two\nthree\n");
}

TEST_F(CliDaemon, VersionDoesNotStartOne) {
  EXPECT_EQ(thalweg_json({"version", "--json"})["controller"], nullptr);
  controller();
  EXPECT_EQ(thalweg_json({"version", "--json"})["controller"], "0.1.0");
}

class CliValidate : public CommandTest {};

TEST_F(CliValidate, GoodFileNeedsNoController) {
  const Outcome outcome = thalweg({"validate", source_file("valid/small.yaml")});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("small.yaml: ok: 8 trials (4 configurations)\n"),
                                 HasSubstr("at most 8 node-hours (8 trials x 1 node x 01:00:00)"),
                                 HasSubstr("ranked by val/error")));
}

TEST_F(CliValidate, MistakesAreLinesWithPlaceAndCure) {
  const std::string file = source_file("invalid/misspelt_optimizer.yaml");
  const Outcome outcome = thalweg({"validate", source_file("valid/small.yaml"), file});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr(file + ":6:"));
  EXPECT_THAT(outcome.err, HasSubstr("adamw"));
  EXPECT_THAT(outcome.err, EndsWith("1 mistake\n"));
  EXPECT_THAT(outcome.out, HasSubstr("small.yaml: ok"));
}

TEST_F(CliValidate, EveryMistakeIsReported) {
  const Outcome outcome = thalweg({"validate", source_file("invalid/three_mistakes.yaml")});
  EXPECT_EQ(outcome.code, 2);
  for (const char* line : {"yaml:2:", "yaml:3:", "yaml:8:"})
    EXPECT_THAT(outcome.err, HasSubstr(line));
}

TEST_F(CliValidate, JsonListsDiagnostics) {
  const Outcome outcome = thalweg({"validate", "--json", source_file("invalid/tab.yaml")});
  EXPECT_EQ(outcome.code, 2);
  const json file = json::parse(outcome.out)["files"].at(0);
  EXPECT_EQ(file["ok"], false);
  EXPECT_EQ(file["diagnostics"].at(0)["line"], 3);
}

TEST_F(CliValidate, TheEnginesMistakesAreThoseOfTheFile) {
  answer_check(R"('{"format": 1, "shapes": 2, "checked": 2, "notes": [], "metrics": [],
    "diagnostics": [{"file": "small.yaml", "line": 9, "column": 3, "key": "train.model.depth",
    "message": "resnet has no depth of 51", "hint": "choose 50"}]}')");
  const Outcome outcome = thalweg({"validate", source_file("valid/small.yaml")});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err,
              HasSubstr("small.yaml:9: train.model.depth: resnet has no depth of 51 (choose 50)"));
  EXPECT_THAT(outcome.err, EndsWith("1 mistake\n"));
}

TEST_F(CliValidate, TheEngineIsNotAskedAboutAFileWithMistakes) {
  answer_check("'nobody asks'");
  const Outcome outcome = thalweg({"validate", source_file("invalid/misspelt_optimizer.yaml")});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_FALSE(std::filesystem::exists(folder("asked")));
}

TEST_F(CliValidate, ShapesThatTimeDidNotReachAreTold) {
  answer_check(R"('{"format": 1, "shapes": 900, "checked": 400, "notes": ["lr is a guess"],
    "metrics": ["val/mae"], "diagnostics": [],
    "metric": {"name": "val/iou", "goal": "maximize"}}')");
  const Outcome outcome = thalweg({"validate", source_file("valid/small.yaml")});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const std::string said = outcome.out + outcome.err;
  EXPECT_THAT(said, HasSubstr("400 of 900 different shapes of trials were checked"));
  EXPECT_THAT(said, HasSubstr("lr is a guess"));
  EXPECT_THAT(said, HasSubstr("ranked by val/iou"));
}

TEST_F(CliValidate, ACheckThatCrashesIsAMessage) {
  answer_check("; kill -9 $$");
  Outcome outcome = thalweg({"validate", source_file("valid/small.yaml")});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out + outcome.err, HasSubstr("--check was killed"));
  answer_check("nonsense; echo 'bus error' >&2; exit 9");
  outcome = thalweg({"validate", source_file("valid/small.yaml")});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out + outcome.err, HasSubstr("--check failed (exit code 9): bus error"));
}

TEST_F(CliValidate, FilesOfOtherMachinesAreNotLookedForInVain) {
  thalweg({"validate", "--backend", "slurm", source_file("valid/small.yaml")});
  EXPECT_THAT(read_file(folder("asked")), HasSubstr("--elsewhere"));
  thalweg({"validate", "--backend", "local", source_file("valid/small.yaml")});
  EXPECT_THAT(read_file(folder("asked")), testing::Not(HasSubstr("--elsewhere")));
}

TEST_F(CliValidate, SlurmIsAskedWhereAControllerRuns) {
  const std::string file = source_file("valid/small.yaml");
  Outcome outcome = thalweg({"validate", "--backend", "slurm", file});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out + outcome.err, HasSubstr("no controller runs"));
  controller().answer("POST /v1/sweeps",
                      json::parse(R"({"forecasts": [{"trial": ".1", "trials": 8, "start": 1.7e9,
                                      "node_list": "node[1-2]", "partition": "short"}]})"));
  outcome = thalweg({"validate", "--backend", "slurm", file});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("trial .1 (and 7 more like it): would start "),
                                 HasSubstr("on node[1-2] of partition short")));
  const auto posted = [&] {
    std::vector<json> bodies;
    for (const auto& request : controller().requests())
      if (request.method == "POST") bodies.push_back(request.body);
    return bodies;
  };
  const json body = posted().back();
  EXPECT_EQ(body["dry_run"], true);
  EXPECT_EQ(body["checked"], true);
  EXPECT_EQ(body["backend"], "slurm");
  controller().answer("POST /v1/sweeps",
                      {{"error", {{"message", "slurm could never run trial 1: too many nodes"}}}},
                      400);
  outcome = thalweg({"validate", "--backend", "slurm", file});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("could never run trial 1"), EndsWith("1 mistake\n")));
  const std::size_t asked = posted().size();
  thalweg({"validate", "--backend", "local", file});
  EXPECT_EQ(posted().size(), asked);
}

TEST_F(CliValidate, SchemaOfTheControllerWhereThereIsNoEngine) {
  std::filesystem::remove(folder("bin/thalweg-train"));
  EXPECT_EQ(thalweg({"validate", source_file("valid/small.yaml")}).code, 1);
  controller().answer("GET /v1/schema", sample("schema"));
  EXPECT_EQ(thalweg({"validate", source_file("valid/small.yaml")}).code, 0);
}

TEST_F(CliValidate, TheCapIsTheOneThatSubmissionKnows) {
  const std::string file = folder("wide.yaml");
  write_file(file, read_file(source_file("valid/small.yaml")) + "resources: {nodes: 65}\n");
  EXPECT_THAT(thalweg({"validate", file}).err, HasSubstr("expected at most 64"));
  write_file(folder("limits.json"), R"({"max_nodes_per_job": 1000})");
  EXPECT_EQ(thalweg({"validate", file}).code, 0);
  write_file(folder("limits.json"),
             R"({"slurm": {"partition": "main"}, "locked": ["slurm.partition"],
                 "sources": {"slurm.partition": "/etc/thalweg/config.yaml"}})");
  write_file(file, read_file(source_file("valid/small.yaml")) + "slurm: {partition: mine}\n");
  EXPECT_THAT(thalweg({"validate", file}).err,
              HasSubstr("fixed to main by /etc/thalweg/config.yaml (enforce)"));
}

TEST_F(CliValidate, ABrokenConfigIsSaidAsSuch) {
  std::filesystem::remove(folder("limits.json"));
  const Outcome outcome = thalweg({"validate", source_file("valid/small.yaml")});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("config.yaml cannot be used"));
}

class CliQueryViews : public CommandTest {};

TEST_F(CliQueryViews, AreThoseOfTheReference) {
  controller().answer("POST /v1/query", {{"columns", {"cid", "name"}}, {"rows", {json{0, "a"}}}});
  std::set<std::string> listed, documented;
  const json views = json::parse(thalweg({"query", "--views", "--json"}).out);
  for (const auto& [view, columns] : views.items())
    listed.insert(view);
  std::istringstream page(read_file(std::string(THALWEG_SOURCE_DIR) + "/db/views.md"));
  for (std::string line; std::getline(page, line);)
    if (line.starts_with("## ") && line != "## Examples") documented.insert(line.substr(3));
  EXPECT_EQ(listed, documented);
}

class CliCompletion : public CommandTest {};

TEST_F(CliCompletion, BashCompletesCommandsOptionsAndChoices) {
  const Outcome outcome = run({"/bin/bash", "-c",
                               "eval \"$(" + program() +
                                   " completion bash)\"\n"
                                   "try() { COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _thalweg; "
                                   "echo \"${COMPREPLY[*]}\"; }\n"
                                   "try thalweg sub; try thalweg ls --js; try thalweg submit "
                                   "--backend sl; try thalweg daemon sta\n"},
                              options());
  EXPECT_EQ(outcome.out, "submit\n--json\nslurm\nstart status\n") << outcome.err;
}

/// With the real program in PATH and a controller that answers.
TEST_F(CliCompletion, BashCompletesMetricsAndParametersOfTheSweep) {
  controller().answer("GET /v1/ping", {{"version", "1"}, {"pid", 1}});
  const json trial{{"id", "12.1"},
                   {"state", "finished"},
                   {"parameters", {{"optimizer.lr", 0.1}, {"schedule.decay", "cosine"}}},
                   {"progress", {{"best", 0.1}}},
                   {"metrics", {{"val/error", {{"last", 0.1}}}, {"train/loss", {{"last", 0.1}}}}}};
  const json sweep{{"id", "12"},
                   {"name", "lrs"},
                   {"state", "finished"},
                   {"metric", "val/error"},
                   {"trials", {trial}}};
  controller().answer("GET /v1/sweeps/12", sweep);
  controller().answer("GET /v1/sweeps/12?best=8", sweep);
  controller().answer("GET /v1/trials/12.1", trial);
  RunOptions with = options();
  const std::filesystem::path own = program();
  with.env["PATH"] = own.parent_path().string() + ":" + std::getenv("PATH");
  const Outcome outcome =
      run({"/bin/bash", "-c",
           "eval \"$(thalweg completion bash)\"\n"
           "try() { COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _thalweg; "
           "echo \"${COMPREPLY[*]}\"; }\n"
           "try thalweg compare 12 --metric v; try thalweg compare 12 --by opt; try thalweg "
           "compare 12 --by optimizer.lr,; try thalweg curve 12 tr\n"},
          with);
  EXPECT_EQ(outcome.out,
            "val/error\noptimizer.lr\noptimizer.lr,optimizer.lr optimizer.lr,schedule.decay\n"
            "train/loss\n")
      << outcome.err;
}

TEST_F(CliCompletion, OtherShellsNameEveryCommand) {
  for (const char* shell : {"zsh", "fish"}) {
    const Outcome outcome = thalweg({"completion", shell});
    EXPECT_EQ(outcome.code, 0);
    for (const char* word : {"validate", "cancel-on-interrupt", "dry-run", "failed cancelled"})
      EXPECT_THAT(outcome.out, HasSubstr(word)) << shell;
  }
  EXPECT_EQ(thalweg({"completion", "tcsh"}).code, 2);
}

class CliAdvise : public CommandTest {
 protected:
  /// Eight trials of one shape, as the engine would plan them.
  void answer_plan() {
    answer_check(R"('{"format": 1, "shapes": 1, "checked": 1, "notes": [], "metrics": [],
      "diagnostics": [], "results": [{"first": 1, "trials": 8, "numbers": [[1, 8]], "checked": true,
      "ok": true, "parameters": 1000000, "flops": {"forward": 1e6, "training": 3e6},
      "training_samples": 10000, "sample_bytes": 3140, "batch": 128, "ranks": 2, "steps": 780,
      "steps_per_epoch": 78, "memory": {"gpu_bytes_per_rank": 0, "by_kind": {"parameters": 4e6,
      "gradients": 4e6, "activations": 1e8}}}]}')");
  }
  const std::string file_ = source_file("valid/small.yaml");
  std::string file_name_;
};

TEST_F(CliAdvise, SaysRuleNumbersSourceAndHowSure) {
  answer_plan();
  const Outcome outcome = thalweg({"advise", file_});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("no earlier run of such a model on such data is known"));
  EXPECT_THAT(outcome.out, HasSubstr("advice: global_batch\n"
                                     "    batch 128 is above √samples = 100"));
  EXPECT_THAT(outcome.out, HasSubstr("rule of thumb. NERSC\n    distributed-training guidelines"));
  EXPECT_THAT(outcome.out, HasSubstr("not known yet: "));
  EXPECT_THAT(outcome.out, Not(HasSubstr("data-parallel:")));
  std::istringstream lines(outcome.out);
  std::getline(lines, file_name_);  // as long as it is
  for (std::string line; std::getline(lines, line);)
    EXPECT_LE(line.size(), 84u) << line;  // 80 columns, some letters take two bytes
  EXPECT_THAT(thalweg({"advise", "--all", file_}).out, HasSubstr("data-parallel:"));
}

TEST_F(CliAdvise, TakesWhatItIsTold) {
  answer_plan();
  const json answer =
      thalweg_json({"advise", "--json", "--node-memory", "100M", "--link", "10", file_});
  std::map<std::string, json> by_rule;
  for (const json& advice : answer["advice"])
    by_rule[advice["rule"]] = advice;
  EXPECT_EQ(by_rule["parallelism"]["verdict"], "warning");
  EXPECT_EQ(by_rule["parallelism"]["numbers"]["memory of a node"], "100 MiB");
  EXPECT_EQ(by_rule["parallelism"]["trials"].size(), 8u);
  EXPECT_EQ(by_rule["parameter_servers"]["verdict"], "unknown");
  const Outcome wrong = thalweg({"advise", "--node-memory", "much", file_});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("--node-memory much: expected a size such as 192G"));
}

TEST_F(CliAdvise, AsksTheControllerThatRuns) {
  answer_plan();
  const json run{{"trial", "3.1"},
                 {"model", "lenet"},
                 {"data", ""},
                 {"device", "cpu"},
                 {"nodes", 1},
                 {"ranks", 2},
                 {"batch", 128},
                 {"samples_per_s", 5000},
                 {"noise_scale", 20},
                 {"parameters", 1e6},
                 {"from_the_future", "x"}};
  const std::string request = "GET /v1/experience?models=lenet&data=";
  controller().answer(request, {{"runs", {run}}});
  const std::string out = thalweg({"advise", "--all", file_}).out;
  EXPECT_THAT(out, HasSubstr("1 earlier run"));
  EXPECT_THAT(out, HasSubstr("at a noise scale of 20"));
  controller().answer(request, {{"error", {{"message", "no such path"}}}}, 404);
  EXPECT_THAT(thalweg({"advise", file_}).out, HasSubstr("no earlier run"));
}

TEST_F(CliAdvise, WhatCannotRunIsAdvisedOnToo) {
  answer_check(R"('{"format": 1, "shapes": 1, "checked": 1, "notes": [], "metrics": [],
    "diagnostics": [{"file": "small.yaml", "line": 3, "column": 1, "key": "resources.memory",
    "message": "found 64.0 MiB, but a node takes at least 100 MiB", "hint": "", "trials": 8,
    "first": 1, "numbers": [[1, 8]], "missing_file": false}],
    "results": [{"first": 1, "trials": 8, "numbers": [[1, 8]], "checked": true,
    "ok": true, "parameters": 1000000, "training_samples": 10000, "sample_bytes": 3140,
    "batch": 128, "ranks": 2, "steps": 780, "steps_per_epoch": 78, "memory":
    {"gpu_bytes_per_rank": 0, "by_kind": {"parameters": 4e6, "activations": 1e8}}}]}')");
  const Outcome outcome = thalweg({"advise", "--node-memory", "64M", file_});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.out, HasSubstr("warning: parallelism"));
  EXPECT_THAT(outcome.err, HasSubstr("resources.memory: found 64.0 MiB"));
  const Outcome as_json = thalweg({"advise", "--json", "--node-memory", "64M", file_});
  EXPECT_EQ(as_json.code, 2);
  EXPECT_EQ(json::parse(as_json.out)["mistakes"].size(), 1u);
}

TEST_F(CliAdvise, MistakesComeFirst) {
  answer_plan();
  const Outcome outcome = thalweg({"advise", source_file("invalid/misspelt_optimizer.yaml")});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("misspelt_optimizer.yaml:6:"));
  answer_check("'nonsense'");
  EXPECT_EQ(thalweg({"advise", file_}).code, 1);
}

TEST_F(CliAdvise, ValidateEndsWithWarnings) {
  answer_plan();
  const Outcome outcome = thalweg({"validate", file_});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("pieces of advice: thalweg advise " + file_));
  const json answer = thalweg_json({"validate", "--json", file_});
  for (const json& advice : answer["files"].at(0)["advice"])
    EXPECT_THAT(advice["verdict"].get<std::string>(), testing::AnyOf("warning", "advice"));
}

}  // namespace
}  // namespace thalweg::test
