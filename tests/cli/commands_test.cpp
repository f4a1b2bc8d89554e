// Every command through the real program, against a controller that says what the test tells it to.
#include <algorithm>
#include <sstream>

#include "tests/cli/command_fixture.h"

namespace thalweg::test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

json error(const std::string& message) {
  return {{"error", {{"message", message}}}};
}

class CliUsage : public CommandTest {};

TEST_F(CliUsage, HelpListsCommandsAndExitCodes) {
  const Outcome help = thalweg({"--help"});
  EXPECT_EQ(help.code, 0);
  for (const char* word :
       {"run", "submit", "validate", "ls", "show", "watch", "compare", "curve", "query", "logs",
        "cancel", "retry", "daemon", "completion", "version", "130", "Example:"})
    EXPECT_THAT(help.out, HasSubstr(word));
  EXPECT_EQ(thalweg({"help"}).out, help.out);
}

TEST_F(CliUsage, EveryCommandHasHelpWithAnExample) {
  std::istringstream lines(thalweg({"--help"}).out);
  int found = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  ") || line[2] < 'a' || line[2] > 'z') continue;
    const std::string name = line.substr(2, line.find(' ', 2) - 2);
    if (name == "thalweg") continue;  // the example
    const Outcome help = thalweg({name, "--help"});
    EXPECT_EQ(help.code, 0) << name;
    EXPECT_THAT(help.out, HasSubstr("Example:\n  thalweg " + name)) << name;
    EXPECT_EQ(thalweg({"help", name}).out, help.out);
    ++found;
  }
  EXPECT_EQ(found, 15);
}

TEST_F(CliUsage, WrongCommandNamesTheNearest) {
  const Outcome outcome = thalweg({"cmpare", "12"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("there is no command 'cmpare'"));
  EXPECT_THAT(outcome.err, HasSubstr("did you mean 'thalweg compare'?"));
  EXPECT_THAT(outcome.out, IsEmpty());
}

TEST_F(CliUsage, WrongOptionNamesTheNearest) {
  const Outcome outcome = thalweg({"ls", "--jsn"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--jsn"));
  EXPECT_THAT(outcome.err, HasSubstr("did you mean --json?"));
}

TEST_F(CliUsage, MistakesInArgumentsAreBadInput) {
  EXPECT_EQ(thalweg({}).code, 2);
  EXPECT_EQ(thalweg({"--frobnicate"}).code, 2);
  EXPECT_EQ(thalweg({"show", "twelve"}).code, 2);
  EXPECT_EQ(thalweg({"cancel"}).code, 2);
  EXPECT_EQ(thalweg({"ls", "--limit", "many"}).code, 2);
  EXPECT_EQ(thalweg({"daemon", "restart"}).code, 2);
  EXPECT_EQ(thalweg({"run", "no-such-file.yaml"}).code, 2);
  EXPECT_EQ(thalweg({"run", "."}).code, 2);
  EXPECT_EQ(thalweg({"run", "a.yaml", "--backend", "pbs"}).code, 2);
  EXPECT_EQ(thalweg({"compare", "12.3"}).code, 2);
  EXPECT_EQ(thalweg({"curve", "12", "val/error"}).code, 2);
}

TEST_F(CliUsage, BadIdSaysHowIdsLook) {
  EXPECT_THAT(thalweg({"show", "12.x"}).err, HasSubstr("write 12 for a sweep, 12.3 for a trial"));
}

TEST_F(CliUsage, NoControllerAndNoneStarts) {
  const Outcome outcome = thalweg({"ls"});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("the test has no daemon"));
}

TEST_F(CliUsage, FullDiskIsAFailure) {
  const Outcome outcome = run({"/bin/sh", "-c", program() + " --help > /dev/full"}, options());
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("cannot write the output"));
}

TEST_F(CliUsage, ClosedPipeIsQuiet) {
  const Outcome outcome = run({"/bin/sh", "-c", program() + " --help | true"}, options());
  EXPECT_THAT(outcome.err, IsEmpty());
}

class CliErrors : public CommandTest {};

TEST_F(CliErrors, StatusesBecomeExitCodes) {
  const auto code = [&](int status) {
    controller().answer("GET /v1/sweeps/12", error("because"), status);
    const Outcome outcome = thalweg({"show", "12"});
    EXPECT_THAT(outcome.err, HasSubstr("because"));
    return outcome.code;
  };
  EXPECT_EQ(code(400), 2);
  EXPECT_EQ(code(404), 4);
  EXPECT_EQ(code(403), 1);
  EXPECT_EQ(code(409), 1);
  EXPECT_EQ(code(500), 1);
  EXPECT_EQ(code(503), 1);
}

TEST_F(CliErrors, DiagnosticsAreOneLineEach) {
  json body = error("both of them again");
  body["error"]["diagnostics"] = {{{"file", "sweep.yaml"},
                                   {"line", 3},
                                   {"column", 5},
                                   {"key", "optimizer.name"},
                                   {"message", "unknown name 'adamv'"},
                                   {"hint", "did you mean adamw?"}},
                                  {{"file", "sweep.yaml"},
                                   {"line", 9},
                                   {"column", 1},
                                   {"key", "epochs"},
                                   {"message", "must be at least 1"},
                                   {"hint", ""}}};
  controller().answer("POST /v1/sweeps", body, 400);
  const Outcome outcome = thalweg({"submit", source_file("valid/small.yaml")});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(
      outcome.err,
      HasSubstr("sweep.yaml:3: optimizer.name: unknown name 'adamv' (did you mean adamw?)\n"));
  EXPECT_THAT(outcome.err, HasSubstr("sweep.yaml:9: epochs: must be at least 1\n"));
  EXPECT_THAT(outcome.err, EndsWith("thalweg: 2 mistakes\n"));
}

class CliTables : public CommandTest {};

TEST_F(CliTables, LsOnScreen) {
  controller().answer("GET /v1/sweeps?limit=50", sample("sweeps"));
  const Outcome outcome = thalweg({"ls"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("12  fashion-optimizers"));
  EXPECT_THAT(outcome.out, HasSubstr("8/8"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("\x1b")));
}

TEST_F(CliTables, LsCsvIsStableAndRaw) {
  controller().answer("GET /v1/sweeps?limit=50", sample("sweeps"));
  EXPECT_EQ(
      thalweg({"ls", "--csv"}).out,
      "id,name,state,backend,trials,running,pending,finished,failed,cancelled,metric,submitted,"
      "ended\n"
      "12,fashion-optimizers,active,local,8,2,4,1,1,0,val/error,1760000000.0,0\n"
      "11,\"lr, \"\"wide\"\"\",finished,local,8,0,0,8,0,0,val/error,1760000000.0,1760000084.0\n");
}

TEST_F(CliTables, JsonIsTheControllersAnswer) {
  const std::map<std::string, std::pair<std::string, std::vector<std::string>>> cases{
      {"sweeps", {"GET /v1/sweeps?limit=7", {"ls", "--json", "-n", "7"}}},
      {"sweep", {"GET /v1/sweeps/12", {"show", "12", "--json"}}},
      {"trial", {"GET /v1/trials/12.2", {"show", "12.2", "--json"}}},
      {"attempt", {"GET /v1/attempts/12.2.1", {"show", "12.2.1", "--json"}}},
      {"compare",
       {"GET /v1/sweeps/12/compare?by=a.b,c&metric=val%2Floss&target=0.5",
        {"compare", "12", "--by", "a.b,c", "--metric", "val/loss", "--target", "0.5", "--json"}}},
      {"curve",
       {"GET /v1/trials/12.3/curve?metric=train%2Floss&points=9",
        {"curve", "12.3", "train/loss", "--points", "9", "--json"}}},
  };
  for (const auto& [name, asked] : cases) {
    controller().answer(asked.first, sample(name));
    if (name == "compare")  // a comma may also be sent as %2C
      controller().answer("GET /v1/sweeps/12/compare?by=a.b%2Cc&metric=val%2Floss&target=0.5",
                          sample(name));
    EXPECT_EQ(thalweg_json(asked.second), sample(name)) << name;
  }
}

TEST_F(CliTables, NoSweepsIsFriendly) {
  controller().answer("GET /v1/sweeps?limit=50", {{"sweeps", json::array()}});
  controller().answer("GET /v1/sweeps?limit=1", {{"sweeps", json::array()}});
  EXPECT_EQ(thalweg({"ls"}).out, "no sweeps yet; try: thalweg run sweep.yaml\n");
  EXPECT_EQ(thalweg({"ls"}).code, 0);
  EXPECT_EQ(thalweg({"compare"}).code, 4);
}

TEST_F(CliTables, ShowSweep) {
  controller().answer("GET /v1/sweeps/12", sample("sweep"));
  const std::string out = thalweg({"show", "12"}).out;
  EXPECT_THAT(out, HasSubstr("val/error, minimize, target 0.12"));
  EXPECT_THAT(out, HasSubstr("note: nodes clamped from 65 to 64"));
  EXPECT_THAT(out, HasSubstr("rank 1 on n2: killed by signal 9 (Killed)"));
  EXPECT_THAT(out, HasSubstr("thalweg show 12.2"));
  EXPECT_THAT(out, HasSubstr("thalweg retry 12"));
}

TEST_F(CliTables, ShowTakesTheNewestSweep) {
  controller().answer("GET /v1/sweeps?limit=1", sample("sweeps"));
  controller().answer("GET /v1/sweeps/12", sample("sweep"));
  EXPECT_THAT(thalweg({"show"}).out, HasSubstr("12 fashion-optimizers"));
}

TEST_F(CliTables, ShowTrialSaysWhyAttemptsEnded) {
  controller().answer("GET /v1/trials/12.2", sample("trial"));
  const std::string out = thalweg({"show", "12.2"}).out;
  EXPECT_THAT(out, HasSubstr("killed by signal 9 (Killed); rank 1 on n2; exit code 137"));
  EXPECT_THAT(out, HasSubstr("the job vanished before it started"));
  EXPECT_THAT(out, HasSubstr("/runs/12/2/2"));
  EXPECT_THAT(out, HasSubstr("thalweg logs 12.2 --stderr"));
  EXPECT_THAT(thalweg({"show", "12.2", "--csv"}).out, HasSubstr("val/error,nan,100,0.41,0.9\n"));
}

TEST_F(CliTables, ShowAttempt) {
  controller().answer("GET /v1/attempts/12.2.1", sample("attempt"));
  const std::string out = thalweg({"show", "12.2.1"}).out;
  EXPECT_THAT(out, HasSubstr("rank 1 on n2"));
  EXPECT_THAT(out, HasSubstr("2025-10-09 08:53:52"));
  EXPECT_THAT(out, HasSubstr("reason=killed by signal 9 (Killed)"));
}

TEST_F(CliTables, CompareOnScreen) {
  controller().answer("GET /v1/sweeps/12/compare", sample("compare"));
  const std::string out = thalweg({"compare", "12"}).out;
  EXPECT_THAT(out, HasSubstr("0.1105 [0.1095, 0.1115]"));
  EXPECT_THAT(out, HasSubstr("800 (1/2)"));
  EXPECT_THAT(out, HasSubstr("– (0/2)"));
  EXPECT_THAT(out, HasSubstr("worse (intervals apart)"));
  EXPECT_THAT(out, HasSubstr("n < 3: the interval is the exact range"));
}

TEST_F(CliTables, CompareCsvHasEverything) {
  controller().answer("GET /v1/sweeps/12/compare", sample("compare"));
  std::istringstream lines(thalweg({"compare", "12", "--csv"}).out);
  std::string head, first;
  std::getline(lines, head);
  std::getline(lines, first);
  EXPECT_EQ(head,
            "rank,optimizer.name,schedule.decay,n,finished,failed,best_median,best_low,best_high,"
            "steps_to_target_median,steps_to_target_low,steps_to_target_high,reached,"
            "seconds_to_target_median,seconds_to_target_low,seconds_to_target_high,"
            "cost_node_seconds_median,cost_node_seconds_low,cost_node_seconds_high,samples_per_s,"
            "verdict,trials");
  EXPECT_EQ(
      first,
      "1,adamw,cosine,2,2,0,0.1105,0.1095,0.1115,700,690,710,2,31.5,31,32,31.5,31,32,10250.5,best,"
      "12.1 12.2");
}

TEST_F(CliTables, Query) {
  controller().answer("POST /v1/query", {{"columns", {"state", "n"}},
                                         {"rows", {{"finished", 7}, {nullptr, 1.5}}},
                                         {"truncated", true}});
  const Outcome outcome = thalweg({"query", "select 1", "--max-rows", "2"});
  EXPECT_EQ(outcome.out, "state       n\nfinished    7\nnull      1.5\n");
  EXPECT_THAT(outcome.err, HasSubstr("only the first 2 rows"));
  EXPECT_EQ(thalweg({"query", "select 1", "--csv"}).out, "state,n\nfinished,7\n,1.5\n");
  const json asked = controller().requests().at(1).body;
  EXPECT_EQ(asked, (json{{"sql", "select 1"}, {"max_rows", 2}}));
}

TEST_F(CliTables, BadQueryIsBadInput) {
  controller().answer("POST /v1/query", error("near \"selct\": syntax error"), 400);
  const Outcome outcome = thalweg({"query", "selct"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("syntax error"));
}

TEST_F(CliTables, CurveDrawsAndExports) {
  controller().answer("GET /v1/trials/12.3/curve?metric=train%2Floss", sample("curve"));
  EXPECT_THAT(thalweg({"curve", "12.3", "train/loss"}).out, HasSubstr("2.3 ┤⢣"));
  EXPECT_THAT(thalweg({"curve", "12.3", "train/loss", "--csv"}).out,
              StartsWith("step,value,time,attempt\n0,2.3,1760000000.0,1\n"));
}

TEST_F(CliTables, CurveNamesTheMetricsThatAreThere) {
  controller().answer("GET /v1/trials/12.2/curve?metric=train%2Flos", {{"points", json::array()}});
  controller().answer("GET /v1/trials/12.2", sample("trial"));
  const Outcome outcome = thalweg({"curve", "12.2", "train/los"});
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(outcome.err, HasSubstr("did you mean train/loss?"));
  EXPECT_THAT(outcome.err, HasSubstr("val/error"));
}

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
  EXPECT_EQ(controller().requests().at(1).body["dry_run"], true);
  EXPECT_THAT(thalweg({"submit", "--dry-run", "--csv", file_}).out,
              HasSubstr(".1,1,\"{\"\"optimizer.lr\"\":0.1}\",2,1\n"));
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
  EXPECT_THAT(outcome.out, HasSubstr("thalweg curve 12.1 val/error"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("\x1b")));
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
  EXPECT_THAT(outcome.out, HasSubstr("thalweg retry 12"));
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
  EXPECT_THAT(outcome.out, EndsWith("small.yaml: ok: 8 trials (4 configurations)\n"));
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

TEST_F(CliValidate, SchemaOfTheControllerWhereThereIsNoEngine) {
  std::filesystem::remove(folder("bin/thalweg-train"));
  EXPECT_EQ(thalweg({"validate", source_file("valid/small.yaml")}).code, 1);
  controller().answer("GET /v1/schema", sample("schema"));
  EXPECT_EQ(thalweg({"validate", source_file("valid/small.yaml")}).code, 0);
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

TEST_F(CliCompletion, OtherShellsNameEveryCommand) {
  for (const char* shell : {"zsh", "fish"}) {
    const Outcome outcome = thalweg({"completion", shell});
    EXPECT_EQ(outcome.code, 0);
    for (const char* word : {"validate", "cancel-on-interrupt", "dry-run", "failed cancelled"})
      EXPECT_THAT(outcome.out, HasSubstr(word)) << shell;
  }
  EXPECT_EQ(thalweg({"completion", "tcsh"}).code, 2);
}

}  // namespace
}  // namespace thalweg::test
