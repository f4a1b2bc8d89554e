// thalweg import: what is read from other programs' files, what is sent, what is wrong with them.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/event_records.h"
#include "tests/cli/command_fixture.h"

namespace thalweg::test {
namespace {

using testing::HasSubstr;

class CliImport : public CommandTest {
 protected:
  /// What --dry-run --json says of a file of this text.
  json read(const std::string& name, const std::string& text, std::vector<std::string> more = {}) {
    write_file(folder(name), text);
    more.insert(more.begin(), {"import", name, "--dry-run", "--json"});
    return thalweg_json(more);
  }
  /// The complaint about it.
  std::string mistake(const std::string& text, std::vector<std::string> more = {}) {
    write_file(folder("bad.csv"), text);
    more.insert(more.begin(), {"import", "bad.csv"});
    const Outcome outcome = thalweg(more);
    EXPECT_EQ(outcome.code, 2) << outcome.out;
    return outcome.err;
  }
  void event_file(const std::string& name, const std::string& records) {
    std::filesystem::create_directories(folder(name).parent_path());
    write_file(folder(name), version_record(5) + records);
  }
  /// What is sent to the controller.
  json sent(std::vector<std::string> words) {
    controller().answer("POST /v1/import", {{"id", "3"}, {"name", "x"}, {"trials", 1}});
    words.insert(words.begin(), "import");
    const Outcome outcome = thalweg(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    for (const auto& request : controller().requests())
      if (request.target == "/v1/import") return request.body;
    return {};
  }
};

TEST_F(CliImport, LongTablesHaveAPointInEachRow) {
  const json read = this->read("points.csv",
                               "trial,metric,step,value,time,lr,name,seed\r\n"
                               "a,val/loss,1,0.5,100.5,0.1,sgd,7\r\n"
                               "b,val/loss,1,nan,,2,\"a, b\",1\r\n"
                               "a,val/loss,2,inf,101,1e-1,sgd,7\r\n"
                               "b,val/acc,1,,,2.0,\"a, b\",1\r\n");
  EXPECT_EQ(read["metric"], "val/loss");
  EXPECT_EQ(read["goal"], "minimize");
  EXPECT_EQ(read["name"], "points");
  ASSERT_EQ(read["runs"].size(), 2u);
  EXPECT_EQ(read["runs"][0],
            json::parse(R"({"source": "a", "parameters": {"lr": 0.1, "name": "sgd"}, "seed": 7,
                            "metrics": {"val/loss": 2}})"));
  EXPECT_EQ(read["runs"][1]["parameters"], json::parse(R"({"lr": 2, "name": "a, b"})"));
  EXPECT_EQ(read["runs"][1]["metrics"], json::parse(R"({"val/loss": 1})"));
  const json curves = sent({"points.csv", "--target", "0.4"})["curves"];
  EXPECT_EQ(curves[0]["points"], json::parse(R"([[1, 0.5, 100.5], [2, "inf", 101.0]])"));
  EXPECT_EQ(curves[1]["points"], json::parse(R"([[1, "nan", 0.0]])"));
}

TEST_F(CliImport, WideTablesHaveAColumnForEachMetric) {
  const std::string text =
      ",_step,run,_timestamp,loss,acc,model,lr,config.depth\n"
      "0,0,x,1760000000,2.5,,mlp,0.1,3\n"
      "1,10,x,2025-10-09T08:53:30Z,1.5,0.25,mlp,0.1,3\n"
      "0,0,y,1760000000,2,0.5,cnn,0.2,4\n";
  const json as_is = read("wide.csv", text);
  EXPECT_EQ(as_is["runs"][0]["metrics"], json::parse(R"({"loss": 2, "acc": 1, "lr": 2})"))
      << "numbers are metrics where nobody says otherwise";
  EXPECT_EQ(as_is["runs"][1]["parameters"], json::parse(R"({"model": "cnn", "depth": 4})"));
  const json told = read("wide.csv", text, {"--parameters", "lr", "--metric", "acc"});
  EXPECT_EQ(told["goal"], "maximize");
  EXPECT_EQ(told["runs"][0]["parameters"],
            json::parse(R"({"model": "mlp", "depth": 3, "lr": 0.1})"));
  const json curves = sent({"wide.csv", "--metric", "loss"})["curves"];
  EXPECT_EQ(curves[1]["metric"], "loss");
  EXPECT_EQ(curves[1]["points"], json::parse("[[0, 2.5, 1760000000.0], [10, 1.5, 1760000010.0]]"));
  EXPECT_THAT(thalweg({"import", "wide.csv", "--dry-run"}).out,
              HasSubstr("a column for each metric, steps in _step, runs in run, times in "
                        "_timestamp; metrics: loss, acc, lr; parameters: model, config.depth"));
}

TEST_F(CliImport, ChartsOfWandbHaveARunInEachColumn) {
  const json read = this->read("chart.csv",
                               "\"Step\",\"a-1 - val/loss\",\"a-1 - val/loss__MIN\","
                               "\"b - c - val/loss\",\"b - c - val/loss__MAX\"\n"
                               "\"0\",\"1.5\",\"1\",\"\",\"\"\n\"5\",\"1\",\"1\",\"2\",\"2\"\n");
  ASSERT_EQ(read["runs"].size(), 2u);
  EXPECT_EQ(read["runs"][0]["source"], "a-1");
  EXPECT_EQ(read["runs"][0]["metrics"], json::parse(R"({"val/loss": 2})"));
  EXPECT_EQ(read["runs"][1]["source"], "b - c");
  EXPECT_EQ(read["runs"][0]["parameters"], json::parse(R"({"run": "a-1"})"))
      << "else they would be repetitions of one experiment";
}

TEST_F(CliImport, AFolderWithEventFilesIsARun) {
  event_file("logs/lr2/events.out.tfevents.2.host",
             hyperparameters_record(5, {{"lr", 0.5}, {"batch", 64.0}, {"seed", 3.0}}) +
                 scalar_record({"loss", 1, 0.5, 10}));
  event_file("logs/lr2/events.out.tfevents.10.host", scalar_record({"loss", 2, 0.25, 20}));
  event_file("logs/lr10/train/events.out.tfevents.1", scalar_record({"loss", 2, NAN, 20}));
  // As PyTorch's add_hparams writes it: a folder below the run's.
  event_file("logs/lr10/train/1760000000.1/events.out.tfevents.1",
             hyperparameters_record(5, {{"lr", 0.1}, {"nesterov", true}}) +
                 scalar_record({"hparam/best", 0, 0.5, 20}));
  const json read = thalweg_json({"import", "logs", "--dry-run", "--json"});
  ASSERT_EQ(read["runs"].size(), 2u);
  EXPECT_EQ(read["runs"][0], json::parse(R"({"source": "lr2", "seed": 3, "metrics": {"loss": 2},
                                             "parameters": {"lr": 0.5, "batch": 64}})"));
  EXPECT_TRUE(read["runs"][0]["parameters"]["batch"].is_number_integer());
  EXPECT_EQ(read["runs"][1],
            json::parse(R"({"source": "lr10/train", "metrics": {"loss": 1, "hparam/best": 1},
                            "parameters": {"lr": 0.1, "nesterov": true}})"));
  const json request = sent({"logs/lr2"});
  EXPECT_EQ(request["name"], "lr2");
  EXPECT_EQ(request["curves"][0]["points"], json::parse("[[1, 0.5, 10.0], [2, 0.25, 20.0]]"));
}

TEST_F(CliImport, FoldersOfKerasAreOneRun) {
  // As the TensorBoard callback of Keras 3 and TensorFlow 2.21 writes them, HParams' values above.
  event_file("logs/a/events.out.tfevents.1.v2", hyperparameters_record(5, {{"lr", 0.5}}));
  event_file("logs/a/train/events.out.tfevents.2.v2", scalar_record({"epoch_loss", 0, 0.5, 10}));
  event_file("logs/a/validation/events.out.tfevents.3.v2",
             scalar_record({"epoch_loss", 0, 0.75, 11}));
  event_file("logs/b/train/events.out.tfevents.2.v2", scalar_record({"epoch_loss", 0, 1, 10}));
  const json read =
      thalweg_json({"import", "logs", "--metric", "validation/epoch_loss", "--dry-run", "--json"});
  ASSERT_EQ(read["runs"].size(), 2u) << read.dump(2);
  EXPECT_EQ(read["runs"][0], json::parse(R"({"source": "a", "parameters": {"lr": 0.5},
                            "metrics": {"train/epoch_loss": 1, "validation/epoch_loss": 1}})"));
  EXPECT_EQ(read["runs"][1]["source"], "b/train") << "it has no validation";
  const json request = sent({"logs/a", "--metric", "validation/epoch_loss"});
  EXPECT_EQ(request["curves"][1]["points"], json::parse("[[0, 0.75, 11.0]]"));
}

TEST_F(CliImport, DamagedEventFilesAreNamedAndUnfinishedOnesAreRead) {
  const std::string one = scalar_record({"loss", 1, 0.5, 10}),
                    two = scalar_record({"loss", 2, 1, 11});
  event_file("run/events.tfevents.1", one + two.substr(0, two.size() / 2));
  EXPECT_EQ(thalweg_json({"import", "run", "--dry-run", "--json"})["runs"][0]["metrics"]["loss"],
            1);
  std::string damaged = one;
  damaged[20] = static_cast<char>(damaged[20] ^ 1);
  event_file("run/events.tfevents.1", damaged);
  const Outcome outcome = thalweg({"import", "run"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("run/events.tfevents.1: no event record at byte 40"));
  std::filesystem::create_directories(folder("empty"));
  EXPECT_THAT(thalweg({"import", "empty"}).err, HasSubstr("empty: no event files in it or below"));
}

TEST_F(CliImport, JsonLinesAreThoseOfExport) {
  const std::string trial =
      R"({"kind":"trial","sweep":7,"trial":1,"name":"t","metric":"m","goal":"maximize","seed":18446744073709551615,"state":"failed","parameters":{"l":[1,2]}})";
  const std::string point =
      R"({"kind":"point","sweep":7,"trial":1,"attempt":1,"metric":"m","step":3,"time":5.5,"value":"-inf"})";
  const json read = this->read("p.jsonl", trial + "\n\n" + point + "\n");
  EXPECT_EQ(read["metric"], "m");
  EXPECT_EQ(read["goal"], "maximize");
  EXPECT_EQ(read["runs"][0]["seed"], 18446744073709551615U);
  EXPECT_EQ(read["runs"][0]["parameters"]["l"], "[1,2]");
  EXPECT_THAT(read["understood"].dump(), HasSubstr("1 trial had not finished"));
  EXPECT_THAT(mistake(trial + "\n" + R"({"kind":"point","sweep":7})"),
              HasSubstr("bad.csv:2: not a line of thalweg export --format jsonl"));
}

TEST_F(CliImport, TimesAreReadWithTheirOffsets) {
  write_file(folder("t.csv"),
             "run,step,time,val/loss\n"
             "a,0,2026-11-20T23:50:00+01:00,1.0\na,1,2026-11-20T23:00:00Z,0.5\n"
             "b,0,2026-11-20 22:50:00+00:00,1.0\nb,1,1795215600,0.5\n"
             "c,0,2026-11-20T22:50:00Z,1\nc,1,NaT,0.5\nc,2, ,0.5\nc,3,nan,0.5\n");
  const json curves = sent({"t.csv"})["curves"];
  ASSERT_EQ(curves.size(), 3u);
  const json known = json::parse("[[0, 1.0, 1795215000.0], [1, 0.5, 1795215600.0]]");
  EXPECT_EQ(curves[0]["points"], known);
  EXPECT_EQ(curves[1]["points"], known);
  EXPECT_EQ(curves[2]["points"][0][2], 1795215000.0);
  for (int point : {1, 2, 3})
    EXPECT_EQ(curves[2]["points"][point][2], 0.0) << "not known";
  EXPECT_THAT(thalweg({"import", "t.csv", "--dry-run"}).out,
              HasSubstr("1 run of 3 with points without times: their seconds and costs are not"));
}

TEST_F(CliImport, SecondsFromAStartAreNoDatesOf1970) {
  write_file(folder("t.csv"), "step,time,val/loss\n0,0,1.0\n1,10,0.5\n");
  const json points = sent({"t.csv"})["curves"][0]["points"];
  EXPECT_GT(points[0][2], 1e9);
  EXPECT_EQ(points[1][2].get<double>() - points[0][2].get<double>(), 10);
}

TEST_F(CliImport, TimesThatAreNotUnderstoodAreMistakes) {
  for (const char* time : {"noon", "25/10/2026 02:10", "2026-10-25T02:10:00 CET", "1795215600000",
                           "-5", "0", "inf", "1969-12-31T00:00:00Z"})
    EXPECT_THAT(mistake(std::string("step,loss,time\n1,2,1795215600\n2,1,") + time + "\n"),
                HasSubstr(std::string("bad.csv, row 3: time '") + time + "' is no time"));
  const std::string point =
      R"({"kind":"point","sweep":7,"trial":1,"metric":"m","step":3,"value":1,)";
  for (const char* time : {"\"2026-10-25T02:10:00Z\"", "-1", "true"})
    EXPECT_THAT(mistake(point + "\"time\":" + time + "}\n"), HasSubstr("bad.csv:1: "));
  EXPECT_EQ(read("p.jsonl", point + "\"time\":null}\n")["runs"].size(), 1u);
}

TEST_F(CliImport, BlocksOfAnEventFileThatWereNeverWrittenAreItsEnd) {
  const std::string one = scalar_record({"loss", 1, 0.5, 10}),
                    two = scalar_record({"loss", 2, 1, 11});
  for (const std::size_t written : {std::size_t{0}, std::size_t{3}, two.size() / 2, two.size() - 4})
    for (const std::size_t zeros : {std::size_t{1}, std::size_t{12}, std::size_t{4096}}) {
      event_file("run/events.tfevents.1",
                 one + two.substr(0, written) + std::string(zeros + two.size() - written, '\0'));
      const json read = thalweg_json({"import", "run", "--dry-run", "--json"});
      EXPECT_EQ(read["runs"][0]["metrics"]["loss"], 1) << written << ' ' << zeros;
      EXPECT_THAT(thalweg({"import", "run", "--dry-run"}).out,
                  HasSubstr(std::to_string(two.size() + zeros) + " bytes at its end"));
    }
  event_file("run/events.tfevents.1", std::string(40, '\0') + one);
  EXPECT_EQ(thalweg({"import", "run"}).code, 2) << "what comes after them would be lost";
}

TEST_F(CliImport, LargeOnesAreSentInParts) {
  constexpr int points = 250'000;
  std::string text = "step,loss\n";
  for (int i = 0; i < points; ++i)
    text += std::to_string(i) + ",0.25\n";
  write_file(folder("large.csv"), text);
  controller().answer("POST /v1/import", {{"upload", "u1"}, {"id", "3"}});
  const Outcome outcome = thalweg({"import", "large.csv"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::size_t sent = 0;
  std::vector<json> parts;
  for (const auto& request : controller().requests())
    if (request.target == "/v1/import") parts.push_back(request.body);
  ASSERT_EQ(parts.size(), 3u);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    EXPECT_LT(parts[i].dump().size(), 16u << 20);
    EXPECT_EQ(parts[i].contains("more"), i + 1 < parts.size());
    EXPECT_EQ(parts[i].value("upload", ""), i == 0 ? "" : "u1");
    for (const json& curve : parts[i]["curves"]) {
      EXPECT_EQ(curve["points"][0][0], sent);
      sent += curve["points"].size();
    }
  }
  EXPECT_EQ(sent, std::size_t{points});
}

TEST_F(CliImport, MistakesAreNamedWithTheirPlace) {
  EXPECT_THAT(mistake("a,b\n1,2\n"), HasSubstr("bad.csv: no column of steps among a, b"));
  EXPECT_THAT(mistake("step,run\n1,x\n"), HasSubstr("no column of a metric"));
  EXPECT_THAT(mistake("step,loss\n"), HasSubstr("no table in CSV, or one without rows"));
  EXPECT_THAT(mistake("step,loss\n1,2\n1,2,3\n"),
              HasSubstr("bad.csv, row 3: 3 fields where the header has 2"));
  EXPECT_THAT(mistake("step,loss\n1.5,2\n"), HasSubstr("row 2: step '1.5' is no step"));
  EXPECT_THAT(mistake("step,loss\n-1,2\n"), HasSubstr("row 2: step '-1' is no step"));
  EXPECT_THAT(mistake("step,metric,value\n1,loss,x\n"), HasSubstr("row 2: value 'x' is no number"));
  EXPECT_THAT(mistake("step,loss,time\n1,2,noon\n"), HasSubstr("row 2: time 'noon' is no time"));
  EXPECT_THAT(mistake("step,loss,name\n1,2,a\n2,1,b\n3,1,b\n", {"--parameters", "loss"}),
              HasSubstr("no column of a metric"));
  EXPECT_THAT(mistake("step,loss,run,model\n1,2,r,a\n2,1,r,b\n"),
              HasSubstr("row 3: model is a parameter, but changes within the run r"));
  EXPECT_THAT(
      mistake("step,u,v\n1,2,3\n"),
      HasSubstr("which metric are the runs compared by?\n  name it with --metric; they have "
                "u, v\n"));
  EXPECT_THAT(mistake("step,loss\n1,2\n", {"--metric", "lss"}), HasSubstr("no run has points of"));
  EXPECT_THAT(mistake("step,loss\n1,2\n", {"--parameters", "lr"}), HasSubstr("no column lr"));
  EXPECT_THAT(mistake("step,loss\n,1\n"), HasSubstr("no run has points"));
  EXPECT_THAT(mistake(std::string("step\0loss", 9)), HasSubstr("neither CSV nor JSON lines"));
  for (const char* nothing : {"", "\n \n"})
    EXPECT_THAT(mistake(nothing), HasSubstr("bad.csv is empty\n  it needs rows in CSV, or lines"));
  EXPECT_THAT(thalweg({"import", "none.csv"}).err, HasSubstr("none.csv is not there"));
}

}  // namespace
}  // namespace thalweg::test
