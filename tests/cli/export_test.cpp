// thalweg export --format: what is in the files, read back by this project's readers and, where it
// is installed, TensorBoard's.
#include <algorithm>
#include <sstream>

#include "base/event_records.h"
#include "tests/cli/command_fixture.h"

namespace thalweg::test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

/// Trial 1 has reached the target, in its second attempt; 2 has diverged; 3 has not begun.
const char* const kSweep = R"({"id": "7", "name": "tiny", "metric": "val/error",
  "goal": "minimize", "target": 0.2, "trials": [
  {"id": "7.1", "configuration": 1, "seed": 18446744073709551615, "state": "finished",
   "attempts": 2, "parameters": {"optimizer.name": "adamw", "optimizer.lr": 0.001, "nest": true}},
  {"id": "7.2", "configuration": 2, "seed": 2, "state": "failed", "attempts": 1, "ended": 1760000190,
   "parameters": {"optimizer.name": "a \"b\", c", "optimizer.lr": 1e30}},
  {"id": "7.3", "configuration": 3, "seed": 3, "state": "pending", "attempts": 0,
   "parameters": {}}]})";

class CliExport : public CommandTest {
 protected:
  CliExport() {
    controller().answer("GET /v1/sweeps/7", json::parse(kSweep));
    controller().answer(
        "POST /v1/query",
        json::parse(R"({"columns": ["metric"], "rows": [["epoch"], ["val/error"]]})"));
    const json epoch = json::parse(R"([[10, 1, 1760000110.5, 1], [30, 3, 1760000130, 2]])");
    answer_curves("epoch", {{"7.1", epoch}});
    controller().answer("GET /v1/trials/7.1/curve?metric=epoch", {{"points", epoch}});
    controller().answer("GET /v1/trials/7.2/curve?metric=epoch", {{"points", json::array()}});
    controller().answer("GET /v1/trials/7.2/curve?metric=val%2Ferror", {{"points", json::array()}});
    controller().answer("GET /v1/trials/7.1/curve?metric=val%2Ferror",
                        json::parse(R"({"points": [[10, 0.3, 1760000110.5, 1]]})"));
    answer_curves("val%2Ferror",
                  {{"7.1", json::parse(R"([[10, 0.30000000000000004, 1760000110.5, 1],
                                           [20, 0.15, 1760000120.25, 2],
                                           [30, 0.1, 1760000130, 2]])")},
                   {"7.2", json::parse(R"([[10, "nan", 1760000111, 1], [20, "inf", 1760000121, 1],
                                           [30, "-inf", 1760000131, 1]])")}});
    for (const char* id : {"7.1.1", "7.1.2", "7.2.1"})
      controller().answer(
          "GET /v1/attempts/" + std::string(id),
          json::parse(R"({"started": 1760000100, "launched": 1760000090, "ended": 1760000200,
            "start": {"config": {"model": {"name": "lenet"}, "batch": {"global": 64},
                                 "optimizer": {"name": "adamw", "lr": 0.001}}}})"));
  }

  void answer_curves(const std::string& metric, const std::map<std::string, json>& curves) {
    json list = json::array();
    for (const auto& [id, points] : curves)
      list.push_back({{"id", id}, {"points", points}});
    for (const char* trials : {"1,2,3", "1,2", "1", "2"})
      controller().answer(
          "GET /v1/sweeps/7/curves?metric=" + metric + "&trials=" + std::string(trials),
          {{"metric", metric}, {"curves", of_trials(list, trials)}});
  }

  static json of_trials(const json& curves, const std::string& trials) {
    json some = json::array();
    for (const json& each : curves)
      if (trials.find(each["id"].get<std::string>().substr(2)) != std::string::npos)
        some.push_back(each);
    return some;
  }

  std::vector<json> lines_of(const std::string& text, const std::string& begin = "") {
    std::vector<json> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
      EXPECT_THAT(line, StartsWith(begin));
      lines.push_back(json::parse(line.substr(begin.size())));
    }
    return lines;
  }
};

TEST_F(CliExport, JsonLinesAreTrialsThenPoints) {
  const Outcome outcome = thalweg({"export", "7", "--format", "jsonl"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::vector<json> lines = lines_of(outcome.out);
  ASSERT_EQ(lines.size(), 3u + 2 + 6);
  const json trials = json::parse(kSweep)["trials"];
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(lines[i]["kind"], "trial");
    EXPECT_EQ(lines[i]["trial"], i + 1);
    EXPECT_EQ(lines[i]["parameters"], trials[i]["parameters"]);
    EXPECT_EQ(lines[i]["seed"], trials[i]["seed"]);
  }
  const json first = json::parse(
      R"({"kind": "point", "sweep": 7, "trial": 1, "attempt": 1, "metric": "val/error", "step": 10,
          "time": 1760000110.5, "value": 0.30000000000000004})");
  EXPECT_EQ(lines[5], first);
  EXPECT_EQ(lines[8]["value"], "nan");
  EXPECT_EQ(lines[9]["value"], "inf");
  EXPECT_EQ(lines[10]["value"], "-inf");
}

TEST_F(CliExport, CsvIsTheSamePointsWithAllDigits) {
  const Outcome one = thalweg(
      {"export", "7.1", "7.1", "--format", "csv", "--metric", "val/error", "-o", "points.csv"});
  ASSERT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(one.out, "written: points.csv (1 trial)\n");
  EXPECT_EQ(read_file(folder("points.csv")),
            "sweep,trial,attempt,metric,step,time,value\n"
            "7,1,1,val/error,10,1760000110.5,0.30000000000000004\n"
            "7,1,2,val/error,20,1760000120.25,0.15\n7,1,2,val/error,30,1760000130,0.1\n");
  const std::string both =
      thalweg({"export", "7.2", "7.1", "7.2", "--format", "csv", "--metric", "val/error"}).out;
  EXPECT_THAT(both, StartsWith(read_file(folder("points.csv")))) << "by number, each once";
  EXPECT_THAT(both, HasSubstr("\n7,2,1,val/error,10,1760000111,nan\n"
                              "7,2,1,val/error,20,1760000121,inf\n"
                              "7,2,1,val/error,30,1760000131,-inf\n"));
  EXPECT_EQ(std::count(both.begin(), both.end(), '\n'), 1 + 3 + 3);
}

TEST_F(CliExport, EventFilesAreReadBack) {
  const Outcome outcome = thalweg({"export", "7", "--format", "tensorboard", "-o", "logs/"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("(2 trials)"));
  EXPECT_FALSE(fs::exists(folder("logs.new")));
  EXPECT_FALSE(fs::exists(folder("logs/7.3")));
  const std::string bytes = read_file(folder("logs/7.1/events.out.tfevents.1760000110.thalweg"));
  std::vector<std::tuple<std::string, std::int64_t, double, double>> scalars;
  int records = 0;
  for (std::string_view rest = bytes; !rest.empty(); ++records) {
    const auto length = record_length(rest.substr(0, kRecordHead));
    ASSERT_TRUE(length);
    const auto data = record_data(rest, *length);
    ASSERT_TRUE(data);
    EXPECT_EQ(data->find("brain.Event:2") != std::string_view::npos, records == 0);
    read_event(*data,
               [&](const ScalarEvent& s) { scalars.emplace_back(s.tag, s.step, s.value, s.time); });
    rest.remove_prefix(kRecordHead + *length + kRecordFoot);
  }
  EXPECT_EQ(records, 2 + 5);
  using Scalar = std::tuple<std::string, std::int64_t, double, double>;
  EXPECT_THAT(
      scalars,
      ElementsAre(Scalar("epoch", 10, 1, 1760000110.5), Scalar("val/error", 10, 0.3F, 1760000110.5),
                  Scalar("val/error", 20, 0.15F, 1760000120.25), Scalar("epoch", 30, 3, 1760000130),
                  Scalar("val/error", 30, 0.1F, 1760000130)));
}

/// One line a scalar, and the parameters as the HParams dashboard has them.
const char* const kReader = R"(
import sys
from tensorboard.backend.event_processing import event_accumulator, plugin_event_accumulator
from tensorboard.plugins.hparams import plugin_data_pb2
from tensorboard.util import tensor_util
old = event_accumulator.EventAccumulator(sys.argv[1])
old.Reload()
for tag in sorted(old.Tags()["scalars"]):
    for s in old.Scalars(tag):
        print(tag, s.step, "%.6g" % s.value, s.wall_time)
new = plugin_event_accumulator.EventAccumulator(sys.argv[1])
new.Reload()
for t in new.Tensors("val/error"):
    print("tensor", t.step, "%.6g" % tensor_util.make_ndarray(t.tensor_proto).item())
print("dashboard", ",".join(sorted(new.PluginTagToContent("scalars"))))
content = list(new.PluginTagToContent("hparams").values())[0]
start = plugin_data_pb2.HParamsPluginData.FromString(content).session_start_info
for name in sorted(start.hparams):
    value = start.hparams[name]
    print(name, getattr(value, value.WhichOneof("kind")))
)";

TEST_F(CliExport, TensorBoardReadsTheEventFiles) {
  if (run({"python3", "-c", "import tensorboard"}).code != 0)
    GTEST_SKIP() << "python3 has no tensorboard (pip install tensorboard)";
  ASSERT_EQ(thalweg({"export", "7", "--format", "tensorboard", "-o", "logs"}).code, 0);
  const auto read = [&](const std::string& trial) {
    const Outcome outcome = run({"python3", "-c", kReader, folder("logs/" + trial).string()});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  };
  EXPECT_EQ(read("7.1"),
            "epoch 10 1 1760000110.5\nepoch 30 3 1760000130.0\n"
            "val/error 10 0.3 1760000110.5\nval/error 20 0.15 1760000120.25\n"
            "val/error 30 0.1 1760000130.0\n"
            "tensor 10 0.3\ntensor 20 0.15\ntensor 30 0.1\ndashboard epoch,val/error\n"
            "nest True\noptimizer.lr 0.001\noptimizer.name adamw\nseed 1.8446744073709552e+19\n");
  EXPECT_THAT(read("7.2"), HasSubstr("tensor 10 nan\ntensor 20 inf\ntensor 30 -inf\n"));
}

TEST_F(CliExport, MllogRunsFromTheStartToTheTarget) {
  const Outcome outcome = thalweg({"export", "7", "--format", "mllog", "-o", "mlperf"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("(2 trials)"));
  const auto lines = lines_of(read_file(folder("mlperf/result_7.1.txt")), ":::MLLOG ");
  std::map<std::string, json> by_key;
  std::vector<std::string> keys;
  for (const json& line : lines) {
    EXPECT_EQ(line.size(), 6u);
    EXPECT_EQ(line["namespace"], "");
    EXPECT_TRUE(line["metadata"]["file"].is_string());
    EXPECT_EQ(line["metadata"]["lineno"], keys.size() + 1);
    keys.push_back(line["key"]);
    by_key[keys.back()] = line;
  }
  EXPECT_THAT(keys, ElementsAre("submission_benchmark", "seed", "global_batch_size", "opt_name",
                                "opt_base_learning_rate", "nest", "optimizer.lr", "optimizer.name",
                                "run_start", "eval_accuracy", "eval_accuracy", "run_stop"));
  EXPECT_EQ(by_key["submission_benchmark"]["value"], "lenet");
  EXPECT_EQ(by_key["global_batch_size"]["value"], 64);
  EXPECT_EQ(by_key["run_start"]["event_type"], "INTERVAL_START");
  EXPECT_EQ(by_key["run_start"]["time_ms"], 1760000100000);
  EXPECT_EQ(by_key["run_start"]["value"], nullptr);
  // Between two reports of the epoch; the point at step 30 comes after the target.
  const json last = by_key["eval_accuracy"];
  EXPECT_EQ(last["event_type"], "POINT_IN_TIME");
  EXPECT_EQ(last["time_ms"], 1760000120250);
  EXPECT_EQ(last["value"], 0.15);
  EXPECT_EQ(last["metadata"]["epoch_num"], 2);
  EXPECT_EQ(last["metadata"]["samples_count"], 1280);
  EXPECT_EQ(last["metadata"]["step"], 20);
  EXPECT_EQ(last["metadata"]["metric"], "val/error");
  EXPECT_EQ(by_key["run_stop"]["event_type"], "INTERVAL_END");
  EXPECT_EQ(by_key["run_stop"]["time_ms"], 1760000120250);
  EXPECT_EQ(by_key["run_stop"]["metadata"]["status"], "success");
}

TEST_F(CliExport, MllogOfARunThatFailedIsAborted) {
  json sweep = json::parse(kSweep);
  sweep["target"] = nullptr;
  controller().answer("GET /v1/sweeps/7", sweep);
  ASSERT_EQ(thalweg({"export", "7", "--format", "mllog", "-o", "mlperf"}).code, 0);
  const auto failed = lines_of(read_file(folder("mlperf/result_7.2.txt")), ":::MLLOG ");
  EXPECT_EQ(failed.back()["key"], "run_stop");
  EXPECT_EQ(failed.back()["time_ms"], 1760000200000);
  EXPECT_EQ(failed.back()["metadata"]["status"], "aborted");
  EXPECT_EQ(failed[failed.size() - 4]["value"], "nan");
  const auto finished = lines_of(read_file(folder("mlperf/result_7.1.txt")), ":::MLLOG ");
  EXPECT_EQ(finished.back()["metadata"]["status"], "success") << "without a target";
  sweep["target"] = 0.05;
  sweep["trials"][1]["state"] = "running";
  controller().answer("GET /v1/sweeps/7", sweep);
  ASSERT_EQ(thalweg({"export", "7", "--format", "mllog", "--metric", "epoch", "-o", "second"}).code,
            0);
  const auto missed = lines_of(read_file(folder("second/result_7.1.txt")), ":::MLLOG ");
  EXPECT_EQ(missed.back()["metadata"]["status"], "aborted") << "the target was not reached";
  EXPECT_EQ(missed[missed.size() - 2]["key"], "epoch");
}

TEST_F(CliExport, WhatIsThereIsNotTouched) {
  fs::create_directory(folder("logs"));
  const Outcome there = thalweg({"export", "7", "--format", "mllog", "-o", "logs"});
  EXPECT_EQ(there.code, 2);
  EXPECT_THAT(there.err, HasSubstr("logs exists already"));
  EXPECT_THAT(there.err, HasSubstr("name a new folder"));
  fs::create_directory(folder("given-up.new"));
  const Outcome given_up = thalweg({"export", "7", "--format", "mllog", "-o", "given-up"});
  EXPECT_EQ(given_up.code, 2);
  EXPECT_THAT(given_up.err, HasSubstr("was interrupted: then remove it"));
  EXPECT_TRUE(fs::exists(folder("given-up.new")));
  write_file(folder("points.csv"), "old");
  EXPECT_EQ(
      thalweg({"export", "7", "--format", "csv", "--metric", "loss", "-o", "points.csv"}).code, 4);
  EXPECT_EQ(read_file(folder("points.csv")), "old") << "a mistake leaves the old file";
  controller().answer("GET /v1/sweeps/7/curves?metric=val%2Ferror&trials=1,2,3", {}, 500);
  EXPECT_NE(thalweg({"export", "7", "--format", "csv", "-o", "points.csv"}).code, 0);
  EXPECT_NE(thalweg({"export", "7", "--format", "tensorboard", "-o", "new"}).code, 0);
  EXPECT_EQ(read_file(folder("points.csv")), "old");
  for (const char* name : {"new", "new.new", "points.csv.new"})
    EXPECT_FALSE(fs::exists(folder(name))) << name;
}

TEST_F(CliExport, MistakesAreNamedWithTheRemedy) {
  const auto says = [&](std::vector<std::string> words, int code, const std::string& message,
                        const std::string& hint) {
    words.insert(words.begin(), "export");
    const Outcome outcome = thalweg(words);
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(message));
    EXPECT_THAT(outcome.err, HasSubstr(hint));
  };
  says({"7", "--format", "json"}, 2, "json", "did you mean jsonl?");
  says({"7", "--format=tensorbord"}, 2, "tensorbord", "did you mean tensorboard?");
  says({"7", "--format", "mllog"}, 2, "writes a folder", "-o FOLDER");
  says({"7", "--format", "csv", "--metric", "val/eror"}, 4, "no trial has points of 'val/eror'",
       "did you mean val/error? they have epoch, val/error");
  says({"7.1.1", "--format", "csv"}, 2, "takes sweeps and trials, not 7.1.1", "export 7.1");
  says({"7.9", "--format", "csv"}, 4, "there is no trial 7.9", "sweep 7 has 3 trials");
  says({"7", "--format", "csv", "--best"}, 2, "--best are for weights", "leave them out");
  says({"7.1", "-o", "m.npz", "--metric", "x"}, 2, "--metric is for curves", "--format");
  says({"7.1", "7.2", "-o", "m.npz"}, 2, "of one trial, not of 7.1 7.2", "--format");
  says({"7.1"}, 2, "--out is required", "--format");
}

TEST_F(CliExport, ASweepWithoutPointsHasTrials) {
  controller().answer("POST /v1/query", json::parse(R"({"columns": ["metric"], "rows": []})"));
  const Outcome lines = thalweg({"export", "7", "--format", "jsonl"});
  EXPECT_EQ(lines.code, 0) << lines.err;
  EXPECT_EQ(lines_of(lines.out).size(), 3u);
  const Outcome events = thalweg({"export", "7", "--format", "tensorboard", "-o", "logs"});
  EXPECT_EQ(events.code, 4);
  EXPECT_THAT(events.err, HasSubstr("no trial has reported anything yet"));
  EXPECT_FALSE(fs::exists(folder("logs")));
}

}  // namespace
}  // namespace thalweg::test
