// Usage, errors and tables through the real program, against a controller that says what the test
// tells it to.
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
       {"init",   "run",      "submit",  "validate",   "advise",  "schema",   "ls",
        "show",   "watch",    "compare", "curve",      "query",   "evaluate", "export",
        "logs",   "cancel",   "retry",   "rerun",      "extend",  "tag",      "note",
        "rename", "timeline", "daemon",  "completion", "version", "130",      "Example:"})
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
  EXPECT_EQ(found, 51);
}

TEST_F(CliUsage, HelpFitsAWindowAndSaysNothingTwice) {
  std::istringstream lines(thalweg({"--help"}).out);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 80u) << line;
    EXPECT_THAT(line, Not(testing::EndsWith(" "))) << line;
  }
  const std::string compare = thalweg({"compare", "--help"}).out;
  EXPECT_THAT(compare, HasSubstr("minimize or maximize\n"));
  EXPECT_THAT(compare, HasSubstr("median, mean or best of its values\n"));
  EXPECT_THAT(thalweg({"init", "--help"}).out,
              HasSubstr("example, classes, regression, images, text\n"));
}

TEST_F(CliUsage, WrongCommandNamesTheNearest) {
  const Outcome outcome = thalweg({"cmpare", "12"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("there is no command 'cmpare'"));
  EXPECT_THAT(outcome.err, HasSubstr("did you mean 'thalweg compare'?"));
  EXPECT_THAT(outcome.out, IsEmpty());
}

TEST_F(CliUsage, WhatOtherProgramsCallACommandIsUnderstood) {
  const std::map<std::string, std::string> meant{
      {"status", "ls"},      {"list", "ls"},   {"stop", "cancel"},  {"kill", "cancel"},
      {"plot", "curve"},     {"log", "logs"},  {"resume", "retry"}, {"best", "compare"},
      {"check", "validate"}, {"sql", "query"}, {"describe", "show"}};
  for (const auto& [word, command] : meant) {
    const Outcome outcome = thalweg({word, "12"});
    EXPECT_EQ(outcome.code, 2) << word;
    EXPECT_THAT(outcome.err, HasSubstr("did you mean 'thalweg " + command + "'?")) << word;
  }
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
  EXPECT_EQ(thalweg({"extend"}).code, 2);
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

TEST_F(CliUsage, InitWritesACommentedFileOnce) {
  const Outcome first = thalweg({"init", "new.yaml", "--kind", "regression", "--data", "a \"b\".h5",
                                 "--optimizers", "lamb,lion", "--seeds", "7"});
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr("thalweg run new.yaml"));
  const std::string text = read_file(folder("new.yaml"));
  for (const char* part : {"name: \"new\"", "seeds: 7 ", "values: [lamb, lion]",
                           "inputs: \"a \\\"b\\\".h5:inputs\"", "val/mae"})
    EXPECT_THAT(text, HasSubstr(part));
  const Outcome second = thalweg({"init", "new.yaml"});
  EXPECT_EQ(second.code, 2);
  EXPECT_THAT(second.err, HasSubstr("--force"));
  EXPECT_EQ(read_file(folder("new.yaml")), text);
  EXPECT_EQ(thalweg({"init", "new.yaml", "--force", "--slurm", "--nodes", "4"}).code, 0);
  EXPECT_THAT(read_file(folder("new.yaml")), HasSubstr("resources: {nodes: 4, ranks_per_node: 1"));
  EXPECT_THAT(thalweg({"init", "-"}).out, StartsWith("# A sweep:"));
  EXPECT_EQ(thalweg({"init", "x.yaml", "--kind", "speech"}).code, 2);
}

TEST_F(CliUsage, InitLooksIntoTheData) {
  const auto arrays = [&](const std::string& list) {
    script("thalweg-train", "echo \"$@\" > asked; echo '{\"arrays\": [" + list + "]}'");
  };
  const auto array = [](const std::string& name, const char* integer, const std::string& shape) {
    return R"({"name": ")" + name + R"(", "integer": )" + integer + R"(, "shape": [)" + shape +
           "]}";
  };
  const auto init = [&](const std::string& data) {
    return thalweg({"init", "-", "--data", data, "-y"});
  };
  for (const char* file : {"mine.npz", "h.h5", "i.npz"})
    write_file(folder(file), "the engine reads it");
  arrays(array("X", "false", "200, 8") + ", " + array("y", "true", "200"));
  const std::string classes = init("mine.npz").out;
  EXPECT_EQ(read_file(folder("asked")), "--arrays --json mine.npz\n");
  EXPECT_THAT(classes, testing::AllOf(HasSubstr("inputs: \"mine.npz:X\""),
                                      HasSubstr("labels: \"mine.npz:y\""), HasSubstr("name: mlp")));
  arrays(array("a/b", "false", "50, 2") + ", " + array("c", "false", "50, 30") + ", " +
         array("of another kind", "true", "7"));
  EXPECT_THAT(init("h.h5").out,
              testing::AllOf(HasSubstr("inputs: \"h.h5:c\""), HasSubstr("targets: \"h.h5:a/b\"")));
  arrays(array("x_train", "true", "9, 3, 32, 32") + ", " + array("y_train", "true", "9, 1") + ", " +
         array("x_test", "true", "4, 3, 32, 32") + ", " + array("y_test", "true", "4, 1"));
  EXPECT_THAT(init("i.npz").out,
              testing::AllOf(HasSubstr("name: resnet"), HasSubstr("inputs: \"i.npz:x_train\""),
                             HasSubstr("labels: \"i.npz:y_train\"")));
  arrays(array("p", "true", "9") + ", " + array("q", "true", "4"));
  const Outcome unknown = init("u.npz");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, testing::AllOf(HasSubstr("which arrays of u.npz are inputs"),
                                          HasSubstr("there are: p, q")));
  script("thalweg-train", "echo 'thalweg-train: no such file: gone.npz' >&2; exit 2");
  EXPECT_THAT(init("gone.npz").err, HasSubstr("no such file: gone.npz"));
  EXPECT_THAT(init("corpus.txt").out, HasSubstr("file: \"corpus.txt\""));
  EXPECT_THAT(init("table.csv").err, HasSubstr("--kind classes, regression, images or text"));
  const Outcome example = thalweg({"init", "-", "--kind", "example", "--data", "x.npz"});
  EXPECT_EQ(example.code, 2);
  EXPECT_THAT(example.err, HasSubstr("--kind example takes no --data"));
}

// An .npy file has one array and no name in it: the labels are in a file of their own beside it.
TEST_F(CliUsage, InitFindsTheFileThatBelongsToAnNpyFile) {
  script("thalweg-train",
         R"(case "$3" in
              X_train.npy) shape=9,3,32,32 integer=false;;
              y.npy|y_train.npy) shape=9 integer=true;;
              *) shape=9,4 integer=false;;
            esac
            echo "{\"arrays\": [{\"name\": \"\", \"integer\": $integer, \"shape\": [$shape]}]}")");
  std::filesystem::create_directories(folder("d"));
  for (const char* file : {"x.npy", "X_train.npy", "y_train.npy", "lone_in.npy", "d/input.npy"})
    write_file(folder(file), "the engine reads it");
  const auto init = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"init", "-", "-y"});
    const Outcome outcome = thalweg(more);
    return outcome.out + outcome.err;
  };
  EXPECT_THAT(init({"--kind", "classes", "--data", "x.npy"}),
              testing::AllOf(HasSubstr("inputs: \"x.npy\""), HasSubstr("labels: \"labels.npy\"")));
  EXPECT_THAT(init({"--kind", "regression", "--data", "d/input.npy"}),
              testing::AllOf(HasSubstr("inputs: \"d/input.npy\""),
                             HasSubstr("targets: \"d/targets.npy\"")));
  write_file(folder("y.npy"), "the engine reads it");
  EXPECT_THAT(init({"--kind", "regression", "--data", "x.npy"}), HasSubstr("targets: \"y.npy\""));
  EXPECT_THAT(init({"--data", "x.npy"}),
              testing::AllOf(HasSubstr("name: mlp"), HasSubstr("labels: \"y.npy\"")));
  EXPECT_THAT(init({"--data", "X_train.npy"}),
              testing::AllOf(HasSubstr("name: resnet"), HasSubstr("inputs: \"X_train.npy\""),
                             HasSubstr("labels: \"y_train.npy\"")));
  EXPECT_THAT(init({"--data", "lone_in.npy"}),
              testing::AllOf(HasSubstr("which arrays of lone_in.npy are inputs"),
                             HasSubstr("no such file as labels.npy beside it")));
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

TEST_F(CliTables, LsSaysWhichNumbersAreMissing) {
  controller().answer("GET /v1/sweeps?limit=50", sample("sweeps"));
  controller().answer("GET /v1/warnings?sweeps=12,11", json::parse(R"({"sweeps": [
      {"id": "12", "warnings": ["1 trial lost 3 reports", "b", "c", "d", "e", "f", "g"]}]})"));
  const Outcome outcome = thalweg({"ls"});
  EXPECT_THAT(outcome.out, HasSubstr("note: 12: 1 trial lost 3 reports\n"));
  EXPECT_THAT(outcome.out, HasSubstr("note: … 2 more warnings (thalweg show SWEEP)\n"));
}

TEST_F(CliTables, LooksAtSeedsSayHowManyTrialsThereMayBeAndWhatTheyClosed) {
  json sweeps = sample("sweeps"), sweep = sample("sweep");
  sweeps["sweeps"][0]["counts"]["to_come"] = 10;
  sweep["looks"] = {"1 of 3 looks taken, 1 of 3 configurations closed", "configuration 3 is worse"};
  controller().answer("GET /v1/sweeps?limit=50", sweeps);
  controller().answer("GET /v1/sweeps/12", sweep);
  EXPECT_THAT(thalweg({"ls"}).out, HasSubstr("1/8 (to 18)"));
  const std::string out = thalweg({"show", "12"}).out;
  EXPECT_THAT(out, HasSubstr("seeds      "));
  EXPECT_THAT(out, HasSubstr("1 of 3 looks taken, 1 of 3 configurations closed\n"));
  EXPECT_THAT(out, HasSubstr("note: configuration 3 is worse\n"));
}

TEST_F(CliTables, LsCsvIsStableAndRaw) {
  controller().answer("GET /v1/sweeps?limit=50", sample("sweeps"));
  EXPECT_EQ(
      thalweg({"ls", "--csv"}).out,
      "id,name,state,backend,trials,running,pending,finished,failed,cancelled,metric,submitted,"
      "ended,tags,bytes,owner\n"
      "12,fashion-optimizers,active,local,8,2,4,1,1,0,val/error,1760000000.0,0,,,ada\n"
      "11,\"lr, "
      "\"\"wide\"\"\",finished,local,8,0,0,8,0,0,val/error,1760000000.0,1760000084.0,,,ada\n");
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
      {"timeline",
       {"GET /v1/studies/timeline?trials=12.2&scripts=1", {"timeline", "12.2", "--json"}}},
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

TEST_F(CliTables, SweepsCsvHasWholeNumbersAndAColumnForEachParameter) {
  json sweep = sample("sweep");
  json tenth = sweep["trials"][0];
  tenth["id"] = "12.10";
  tenth["parameters"] = {{"optimizer.lr", 0.000343232123}};
  sweep["trials"].push_back(tenth);
  controller().answer("GET /v1/sweeps/12", sweep);
  std::istringstream lines(thalweg({"show", "12", "--csv"}).out);
  std::string head, first, last;
  std::getline(lines, head);
  std::getline(lines, first);
  for (std::string line; std::getline(lines, line);)
    last = line;
  EXPECT_EQ(head,
            "sweep,trial,configuration,seed,state,attempts,optimizer.lr,optimizer.name,"
            "schedule.decay,step,loss,metric,best,reason");
  EXPECT_THAT(first, StartsWith("12,1,"));
  EXPECT_THAT(last, StartsWith("12,10,"));
  EXPECT_THAT(last, HasSubstr(",0.000343232123,,,"));
}

TEST_F(CliTables, ASweepIsFoundByItsName) {
  controller().answer("GET /v1/resolve?name=fashion-optimizers&acts=0", {{"id", "12"}});
  controller().answer("GET /v1/resolve?name=f%20o.2&acts=0", {{"id", "12.2"}});
  controller().answer("GET /v1/sweeps/12", sample("sweep"));
  controller().answer("GET /v1/trials/12.2", sample("trial"));
  EXPECT_THAT(thalweg({"show", "fashion-optimizers"}).out, HasSubstr("12 fashion-optimizers"));
  EXPECT_THAT(thalweg({"show", "f o.2"}).out, HasSubstr("12.2"));
  controller().answer("GET /v1/resolve?name=which&acts=0",
                      {{"id", ""}, {"problem", "what is wrong"}, {"hint", "what to do"}});
  const Outcome wrong = thalweg({"show", "which"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_EQ(wrong.err, "thalweg: what is wrong\n  what to do\n");
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
  EXPECT_THAT(out, HasSubstr("requested from Slurm (also in batch.sh in the folder):\n"
                             "  --partition=main\n  --nodes=2\n"));
  EXPECT_THAT(out, HasSubstr("rank 1 on n2"));
  EXPECT_THAT(out, HasSubstr("2025-10-09 08:53:52"));
  EXPECT_THAT(out, HasSubstr("reason=killed by signal 9 (Killed)"));
}

TEST_F(CliTables, CompareOnScreen) {
  controller().answer("GET /v1/sweeps/12/compare", sample("compare"));
  const std::string out = thalweg({"compare", "12"}).out;
  EXPECT_THAT(out, HasSubstr("0.1105 [0.1095, 0.1115]"));
  EXPECT_THAT(out, HasSubstr("800 (1/2)"));
  EXPECT_THAT(out, HasSubstr("1:03")) << "node time to the target, not of the whole trial";
  EXPECT_THAT(out, HasSubstr("– (0/2)"));
  EXPECT_THAT(out, HasSubstr("worse (intervals apart)"));
  EXPECT_THAT(out, HasSubstr("n < 3: the interval is the exact range"));
}

TEST_F(CliTables, NullIsWrittenAndWhatARowDoesNotHaveIsNot) {
  json answer = sample("compare");
  answer["rows"][0]["group"]["schedule.decay"] = nullptr;
  answer["rows"][1]["group"].erase("schedule.decay");
  controller().answer("GET /v1/sweeps/12/compare", answer);
  EXPECT_THAT(thalweg({"compare", "12"}).out, testing::ContainsRegex("adamw +null +2"));
  const std::string csv = thalweg({"compare", "12", "--csv"}).out;
  EXPECT_THAT(csv, HasSubstr("\n1,adamw,null,2,"));
  EXPECT_THAT(csv, testing::ContainsRegex("\n2,[a-z]+,,2,"));
  json sweep = sample("sweep");
  sweep["trials"][0]["parameters"] = {{"rnn", nullptr}};
  controller().answer("GET /v1/sweeps/12", sweep);
  EXPECT_THAT(thalweg({"show", "12"}).out, HasSubstr("rnn=null"));
}

TEST_F(CliTables, CompareShowsTheBestFiftyOfVeryManyRows) {
  json answer = sample("compare");
  const json row = answer["rows"][0];
  answer["rows"] = json::array();
  for (int rank = 1; rank <= 120; ++rank) {
    answer["rows"].push_back(row);
    answer["rows"].back()["rank"] = rank;
  }
  answer["rows_in_all"] = 120;
  controller().answer("GET /v1/sweeps/12/compare", answer);
  const std::string out = thalweg({"compare", "12"}).out;
  EXPECT_THAT(out, HasSubstr("the best 50 of 120 rows (--top 0 prints all of them)"));
  EXPECT_LT(std::count(out.begin(), out.end(), '\n'), 60);
  const std::string all = thalweg({"compare", "12", "--top", "0"}).out;
  EXPECT_GT(std::count(all.begin(), all.end(), '\n'), 120);
  EXPECT_THAT(all, Not(HasSubstr("the best 50")));
  const std::string csv = thalweg({"compare", "12", "--csv"}).out;
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 121);
}

TEST_F(CliTables, CompareCsvHasEverything) {
  controller().answer("GET /v1/sweeps/12/compare", sample("compare"));
  std::istringstream lines(thalweg({"compare", "12", "--csv"}).out);
  std::string head, first;
  std::getline(lines, head);
  std::getline(lines, first);
  EXPECT_EQ(head,
            "rank,optimizer.name,schedule.decay,n,configurations,trials_used,finished,failed,best_"
            "median,best_low,best_high,"
            "steps_to_target_median,steps_to_target_low,steps_to_target_high,reached,"
            "samples_to_target_median,samples_to_target_low,samples_to_target_high,"
            "seconds_to_target_median,seconds_to_target_low,seconds_to_target_high,"
            "node_seconds_to_target_median,node_seconds_to_target_low,node_seconds_to_target_high,"
            "cost_node_seconds_median,cost_node_seconds_low,cost_node_seconds_high,samples_per_s,"
            "improvement_probability,improvement_low,improvement_high,verdict,trials,ended_early");
  EXPECT_EQ(first,
            "1,adamw,cosine,2,1,2,2,0,0.1105,0.1095,0.1115,700,690,710,2,,,,31.5,31,32,63,62,64,"
            "31.5,31,32,10250.5,,,,best,"
            "12.1 12.2,1");
}

TEST_F(CliTables, CompareShowsMoneyWherePricesAreKnown) {
  json answer = sample("compare");
  controller().answer("GET /v1/sweeps/12/compare", answer);
  EXPECT_THAT(thalweg({"compare", "12"}).out, Not(HasSubstr("EUR")));
  answer["priced"] = true;
  answer["currency"] = "EUR";
  answer["rows"][0]["money_to_target"] = {
      {"median", 0.35}, {"low", 0.3}, {"high", 0.4}, {"reached", 2}};
  controller().answer("GET /v1/sweeps/12/compare", answer);
  const std::string out = thalweg({"compare", "12"}).out;
  EXPECT_THAT(out, HasSubstr("EUR to "));
  EXPECT_THAT(out, HasSubstr("0.35"));
  EXPECT_THAT(thalweg({"compare", "12", "--csv"}).out, HasSubstr(",0.35,0.3,0.4,"));
}

TEST_F(CliTables, CompareAsksForAllOfIt) {
  json answer = sample("compare");
  controller().answer(
      "GET /v1/sweeps/12/compare?by=optimizer.name&best_over=optimizer.lr%2Cschedule.decay&"
      "goal=maximize&rank_by=cost&top=3",
      answer);
  const Outcome outcome = thalweg({"compare", "12", "--by", "optimizer.name", "--best-over",
                                   "optimizer.lr", "--best-over", "schedule.decay", "--goal",
                                   "maximize", "--rank-by", "cost", "--top", "3"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(thalweg({"compare", "12", "--goal", "larger"}).code, 2);
  EXPECT_EQ(thalweg({"compare", "12", "--rank-by", "speed"}).code, 2);
}

TEST_F(CliTables, CompareTakesSeveralSweeps) {
  json answer = sample("compare");
  answer["sweeps"] = {"12", "13", "9"};
  answer["statistic"] = "mean";
  answer["rows"][1]["improvement"] = {{"median", 0.0625}, {"low", 0.01}, {"high", 0.4}};
  controller().answer("GET /v1/sweeps/12/compare?also=13%2C9&stat=mean", answer);
  const Outcome outcome = thalweg({"compare", "12", "13", "9", "--stat", "mean"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(thalweg({"compare", "12", "13", "9", "--stat", "mean", "--csv"}).out,
              testing::AllOf(HasSubstr(",best_mean,best_low,"), HasSubstr(",0.0625,0.01,0.4,")));
  EXPECT_EQ(thalweg({"compare", "12", "13.2"}).code, 2);
  EXPECT_EQ(thalweg({"compare", "12", "--stat", "mode"}).code, 2);
  answer["rows"] = json::array();
  controller().answer("GET /v1/sweeps/12/compare?also=13%2C9&stat=mean", answer);
  EXPECT_THAT(thalweg({"compare", "12", "13", "9", "--stat", "mean"}).out,
              HasSubstr("no trial of sweeps 12, 13, 9 has reported"));
}

TEST_F(CliTables, CompareShowsWhatWasChosen) {
  json answer = sample("compare");
  answer["by"] = {"optimizer.name"};
  answer["best_over"] = {"optimizer.lr"};
  for (json& row : answer["rows"]) {
    row["chosen"] = {{"optimizer.lr", 0.003}};
    row["choices"] = 6;
  }
  controller().answer("GET /v1/sweeps/12/compare", answer);
  const std::string out = thalweg({"compare", "12"}).out;
  EXPECT_THAT(out, HasSubstr("best lr"));
  EXPECT_THAT(out, HasSubstr("0.003"));
  const std::string csv = thalweg({"compare", "12", "--csv"}).out;
  EXPECT_THAT(csv, testing::StartsWith("rank,optimizer.name,optimizer.lr,choices,n,"));
  EXPECT_THAT(csv, HasSubstr("\n1,adamw,0.003,6,2,"));
}

TEST_F(CliTables, ShowSuggestsAMetricThatTheTrialHas) {
  json answer = sample("trial");
  controller().answer("GET /v1/trials/12.2", answer);
  EXPECT_THAT(thalweg({"show", "12.2"}).out, HasSubstr("thalweg curve 12.2 train/loss "));
  answer["metrics"] = {{"my loss", {{"last", 1}, {"step", 1}, {"min", 1}, {"max", 1}}}};
  controller().answer("GET /v1/trials/12.2", answer);
  EXPECT_THAT(thalweg({"show", "12.2"}).out, HasSubstr("thalweg curve 12.2 'my loss' "));
}

TEST_F(CliTables, CompareHidesRowsThatWaitAndTargetsThatNobodyReached) {
  json answer = sample("compare");
  for (json& row : answer["rows"])
    row["steps_to_target"]["reached"] = 0;
  json empty = answer["rows"][0];
  empty["verdict"] = "no data";
  empty["n"] = empty["trials_used"] = 0;
  answer["rows"][1]["trials_used"] = 7;
  for (int i = 0; i < 3000; ++i)
    answer["rows"].push_back(empty);
  empty["failed"] = 2;
  answer["rows"].push_back(empty);
  answer["rows_in_all"] = 4000;
  controller().answer("GET /v1/sweeps/12/compare", answer);
  const std::string out = thalweg({"compare", "12"}).out;
  EXPECT_LT(std::count(out.begin(), out.end(), '\n'), 15) << out;
  EXPECT_THAT(out, HasSubstr("3000 rows without data are not shown"));
  EXPECT_THAT(out, HasSubstr("the best 3005 of 4000 rows"));
  EXPECT_THAT(out, HasSubstr("no data")) << "what has failed is shown";
  EXPECT_THAT(out, HasSubstr("trials"));
  EXPECT_THAT(out, Not(HasSubstr("to 0.12")));
  const std::string csv = thalweg({"compare", "12", "--csv"}).out;
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 3006);
  answer["rows"].erase(answer["rows"].begin(), answer["rows"].begin() + 4);
  answer["rows"].erase(answer["rows"].size() - 1);
  controller().answer("GET /v1/sweeps/12/compare", answer);
  EXPECT_THAT(thalweg({"compare", "12"}).out, StartsWith("3000 rows without data are"))
      << "no heads of columns where there is no row";
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
              StartsWith("sweep,trial,step,value,time,attempt\n12,3,0,2.3,1760000000.0,1\n"));
}

TEST_F(CliTables, TimelineDrawsPartsAndRanks) {
  json answer = sample("timeline");
  controller().answer("GET /v1/studies/timeline?trials=12.2", answer);
  const Outcome both = thalweg({"timeline", "12.2"});
  EXPECT_EQ(both.code, 0) << both.err;
  EXPECT_THAT(both.out, StartsWith("attempt  part     time  share"));
  EXPECT_THAT(both.out, HasSubstr("12.2.1   compute  30 s   75 %  ██████████████████████▌"));
  EXPECT_THAT(both.out, HasSubstr("attempt  state   ranks  nodes  waited before  launch to end"));
  EXPECT_THAT(both.out, HasSubstr("12.2.2   queued      2      2           1:30           12 s"));
  EXPECT_THAT(both.out, HasSubstr("ms a step of each rank\nattempt  rank  node  compute"));
  EXPECT_THAT(both.out, HasSubstr("most of 12.2.1: compute: forward and backward"));
  answer["charts"] = json::parse(R"([{"title": "Where the time went", "y_name": "s",
    "bars": ["12.2.2"], "series": [{"label": "queued", "y": [12]}]}])");
  controller().answer("GET /v1/studies/timeline?trials=12.2.2&chart=1", answer);
  EXPECT_THAT(thalweg({"timeline", "12.2.2", "--svg", "-"}).out,
              testing::AllOf(StartsWith("<svg "), HasSubstr("<title>queued 12 s</title>")));
  answer.erase("charts");
  controller().answer("GET /v1/studies/timeline?trials=12.2.2&chart=1", answer);
  EXPECT_EQ(thalweg({"timeline", "12.2.2", "--svg", "-"}).code, 4) << "nothing to draw";
  controller().answer("GET /v1/studies/timeline?trials=12.2.7", error("there is no attempt"), 404);
  EXPECT_EQ(thalweg({"timeline", "12.2.7"}).code, 4);
  EXPECT_EQ(thalweg({"timeline", "12"}).code, 2);
  EXPECT_EQ(thalweg({"timeline"}).code, 2);
}

TEST_F(CliTables, CurveTakesTheNewestSweep) {
  controller().answer("GET /v1/sweeps?limit=1", {{"sweeps", json::array()}});
  const Outcome none = thalweg({"curve"});
  EXPECT_EQ(none.code, 4);
  EXPECT_THAT(none.err, HasSubstr("there are no sweeps yet"));
  controller().answer("GET /v1/sweeps?limit=1", sample("sweeps"));
  controller().answer("GET /v1/sweeps/12?best=8", {{"error", {{"message", "asked of 12"}}}}, 404);
  EXPECT_THAT(thalweg({"curve"}).err, HasSubstr("asked of 12"));
}

TEST_F(CliTables, CurveDrawsTheSweepsMetricAndNamesTheOthers) {
  controller().answer("GET /v1/sweeps/12?trials=0", sample("sweep"));
  controller().answer("GET /v1/trials/12.2", sample("trial"));
  controller().answer("GET /v1/trials/12.2/curve?metric=val%2Ferror", sample("curve"));
  const Outcome outcome = thalweg({"curve", "12.2"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("12.2 val/error"));
  EXPECT_THAT(outcome.out, HasSubstr("other metrics: train/loss"));
  EXPECT_EQ(thalweg({"curve", "12.2", "--list"}).out, "train/loss\nval/error\n");
}

TEST_F(CliTables, CurveDrawsSeveralTrialsAndTheBestOfASweep) {
  json sweep = sample("sweep");
  const auto one = [&](int number, double best) {
    json trial = sweep["trials"][0];
    const std::string id = "12." + std::to_string(number);
    trial["id"] = id;
    trial["progress"]["best"] = best;
    return trial;
  };
  const auto curves_of = [](const std::vector<std::string>& ids) {
    json curves = json::array();
    for (const std::string& id : ids)
      curves.push_back({{"id", id}, {"points", sample("curve")["points"]}});
    return json{{"metric", "val/error"}, {"curves", curves}};
  };
  json trials = json::array();
  for (int number = 9; number > 1; --number)
    trials.push_back(one(number, 1.0 / number));
  sweep["trials"] = trials;
  sweep["reporting"] = 9;
  controller().answer("GET /v1/sweeps/12?best=8", sweep);
  for (const int number : {1, 3}) {
    json trial = sample("trial");
    trial["id"] = "12." + std::to_string(number);
    controller().answer("GET /v1/trials/12." + std::to_string(number), trial);
  }
  const std::string path = "GET /v1/sweeps/12/curves?metric=val%2Ferror&trials=";
  controller().answer(path + "1,3", curves_of({"12.1", "12.3"}));
  controller().answer(path + "9,8,7,6,5,4,3,2",
                      curves_of({"12.2", "12.3", "12.4", "12.5", "12.6", "12.7", "12.8", "12.9"}));
  const Outcome two = thalweg({"curve", "12.1", "12.3", "val/error"});
  EXPECT_EQ(two.code, 0) << two.err;
  EXPECT_THAT(two.out, HasSubstr("a 12.1  "));
  EXPECT_THAT(two.out, HasSubstr("b 12.3  "));
  EXPECT_THAT(two.out, HasSubstr("seed 2"));
  controller().answer("GET /v1/trials/12.9", sample("trial"));  // names the other metrics
  const std::size_t before = controller().requests().size();
  const Outcome best = thalweg({"curve", "12"});
  const auto asked = controller().requests();
  EXPECT_EQ(std::count_if(asked.begin() + static_cast<std::ptrdiff_t>(before), asked.end(),
                          [](const auto& r) { return r.target.find("curve") != r.target.npos; }),
            1)
      << "once for all trials";
  EXPECT_EQ(best.code, 0) << best.err;
  EXPECT_THAT(best.out, HasSubstr("a 12.9  "));
  EXPECT_THAT(best.out, Not(HasSubstr("12.1  ")));
  EXPECT_THAT(best.out, HasSubstr("the best 8 of 9 trials"));
  const json both = thalweg_json({"curve", "12.1", "12.3", "val/error", "--json"});
  EXPECT_EQ(both["curves"].size(), 2u);
  EXPECT_EQ(both["curves"][1]["id"], "12.3");
  EXPECT_EQ(both["curves"][1]["points"], sample("curve")["points"]);
}

TEST_F(CliTables, CurveByAParameterDrawsMedians) {
  controller().answer("GET /v1/sweeps/12", sample("sweep"));
  json curves = json::array();
  for (const std::string id : {"12.1", "12.2", "12.3"}) {
    curves.push_back({{"id", id}, {"points", sample("curve")["points"]}});
    if (id == "12.2")
      for (json& point : curves.back()["points"])
        point[1] = point[1].get<double>() + 1;
  }
  controller().answer("GET /v1/sweeps/12/curves?metric=train%2Floss&trials=1,2,3",
                      {{"metric", "train/loss"}, {"curves", curves}});
  const json answer = thalweg_json({"curve", "12", "train/loss", "--by", "decay", "--json"});
  ASSERT_EQ(answer["groups"].size(), 2u);  // 12.4 and later have reported nothing
  EXPECT_EQ(answer["groups"][0]["label"], "constant");
  EXPECT_EQ(answer["groups"][0]["trials"], (json{"12.1", "12.2"}));
  EXPECT_EQ(answer["groups"][0]["points"][0], (json{0.0, 2.8, 2.3, 3.3}));
  EXPECT_EQ(answer["groups"][1]["trials"], (json{"12.3"}));
  EXPECT_THAT(thalweg({"curve", "12", "train/loss", "--by", "decay"}).out,
              HasSubstr("a constant (2 trials): "));
  EXPECT_THAT(thalweg({"curve", "12", "train/loss", "--by", "decay", "--csv"}).out,
              StartsWith("group,trials,step,median,low,high,finite\nconstant,2,0,2.8,2.3,3.3,2\n"));
  EXPECT_THAT(thalweg({"curve", "12", "train/loss", "--by", "decay", "--svg", "-"}).out,
              testing::AllOf(StartsWith("<svg "), HasSubstr("cosine (1 trial)"),
                             HasSubstr(">fashion-optimizers<")));
  curves[1]["points"][3][1] = "nan";
  curves[2]["points"][4][1] = "inf";
  controller().answer("GET /v1/sweeps/12/curves?metric=train%2Floss&trials=1,2,3",
                      {{"metric", "train/loss"}, {"curves", curves}});
  const std::string gaps = thalweg({"curve", "12", "train/loss", "--by", "decay"}).out;
  EXPECT_THAT(gaps, HasSubstr(", 1 without trials that are not finite there"));
  EXPECT_THAT(gaps, HasSubstr(", 1 not finite (gaps)"));
  EXPECT_THAT(thalweg({"curve", "12", "train/loss", "--by", "decay", "--csv"}).out,
              HasSubstr("\ncosine,1,40,nan,nan,nan,0\n"));
  const Outcome unknown = thalweg({"curve", "12", "train/loss", "--by", "schedule.deca"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean schedule.decay?"));
  EXPECT_EQ(thalweg({"curve", "12.1", "train/loss", "--by", "decay"}).code, 2);
}

TEST_F(CliTables, CurveWritesAPictureAndSaysWhereItCannot) {
  controller().answer("GET /v1/trials/12.3/curve?metric=train%2Floss", sample("curve"));
  const TempDir folder;
  const std::string file = folder.path() / "curve.svg";
  const Outcome outcome = thalweg({"curve", "12.3", "train/loss", "--svg", file});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(read_file(file), EndsWith("</svg>\n"));
  const Outcome nowhere =
      thalweg({"curve", "12.3", "train/loss", "--svg", folder.path() / "none" / "curve.svg"});
  EXPECT_EQ(nowhere.code, 1);
  EXPECT_THAT(nowhere.err, HasSubstr("cannot write"));
}

TEST_F(CliTables, CurveNamesTheMetricsThatAreThere) {
  controller().answer("GET /v1/trials/12.2/curve?metric=train%2Flos", {{"points", json::array()}});
  controller().answer("GET /v1/trials/12.2", sample("trial"));
  const Outcome outcome = thalweg({"curve", "12.2", "train/los"});
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(outcome.err, HasSubstr("did you mean train/loss?"));
  EXPECT_THAT(outcome.err, HasSubstr("val/error"));
}

}  // namespace
}  // namespace thalweg::test
