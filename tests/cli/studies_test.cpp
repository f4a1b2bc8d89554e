// batch, scaling, pareto and profile: what is asked, and how answers are printed.
#include <fmt/format.h>

#include "tests/cli/command_fixture.h"

namespace thalweg::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class CliStudies : public CommandTest {};

TEST_F(CliStudies, PrintsIntervalsAndFurtherTables) {
  json answer = json::parse(R"({"study": "batch",
    "columns": [{"key": "batch", "title": "batch", "shows": "number"},
                {"key": "regime", "title": "regime", "shows": "text"}],
    "rows": [{"batch": 16, "regime": "perfect scaling"}, {"batch": 1024, "regime": ""}],
    "facts": [{"key": "b_crit", "title": "critical batch", "shows": "interval"},
              {"key": "s_min", "title": "fewest steps", "shows": "finite"},
              {"key": "target", "title": "", "shows": "number"}],
    "b_crit": 487.6, "b_crit_low": 402.4, "b_crit_high": "inf", "s_min": "nan", "target": 0.14,
    "summary": ["a law"], "notes": ["a note"]})");
  controller().answer("GET /v1/studies/batch?sweeps=12,13&target=0.14", answer);
  const Outcome outcome = thalweg({"batch", "12", "13", "--target", "0.14"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out,
            "batch  regime\n   16  perfect scaling\n 1024\n\n"
            "critical batch  487.6 [402.4, not bounded]\na law\nnote: a note\n");
  controller().answer("GET /v1/studies/batch?sweeps=12,13&target=0.14&scripts=1", answer);
  EXPECT_EQ(thalweg_json({"batch", "12", "13", "--target", "0.14", "--json"}), answer);
  EXPECT_EQ(thalweg({"batch", "12", "13", "--target", "0.14", "--csv"}).out,
            "batch,regime\n16.0,perfect scaling\n1024.0,\n");

  for (const char* key : {"facts", "summary", "notes"})
    answer.erase(key);
  answer["further"] = json::parse(R"([{"key": "fits", "title": "A fit of each",
    "columns": [{"key": "optimizer.name", "title": "name", "shows": "text"},
                {"key": "b_crit", "title": "critical batch", "shows": "interval"}],
    "rows": [{"optimizer.name": "muon", "b_crit": 1200, "b_crit_low": 300, "b_crit_high": "inf"},
             {"optimizer.name": "lion", "b_crit": null}]}])");
  controller().answer("GET /v1/studies/batch?sweeps=12&by=name", answer);
  EXPECT_EQ(thalweg({"batch", "12", "--by", "name"}).out,
            "batch  regime\n   16  perfect scaling\n 1024\n\nA fit of each\n"
            "name           critical batch\nmuon  1200 [300, not bounded]\n"
            "lion                        –\n");
  controller().answer("GET /v1/studies/batch?sweeps=12&by=name&scripts=1", answer);
  EXPECT_EQ(thalweg({"batch", "12", "--by", "name", "--csv"}).out,
            "batch,regime\n16.0,perfect scaling\n1024.0,\n")
      << "the first table alone";
}

json forecast() {
  return json::parse(R"({"title": "trial 12.3 to val/error 0.14: 64000 samples, 64 at a time",
    "columns": [{"key": "nodes", "title": "nodes", "shows": "number"},
                {"key": "speed", "title": "", "shows": "text"},
                {"key": "samples_per_s", "title": "samples/s", "shows": "number"},
                {"key": "efficiency", "title": "of sum", "shows": "share"}],
    "facts": [{"key": "trial", "title": "", "shows": "text"}], "trial": "12.3", "batch": 64,
    "mape": "nan", "measured_nodes": 1, "measured_samples_per_s": 1000, "sample_us": 900,
    "update_ms": 1, "link_gbit": 5.5, "link_of": "9.2", "notes": ["sums"], "summary": [], "rows": [
    {"nodes": 1, "speed": "measured", "samples_per_s": 1000, "efficiency": 1},
    {"nodes": 4, "speed": "predicted", "samples_per_s": 3600, "efficiency": 0.9}]})");
}

TEST_F(CliStudies, PredictsATrialOnOtherNumbersOfNodes) {
  json answer = forecast();
  answer["mape"] = 0.031;
  answer["summary"] = {"speeds predicted from fewer nodes missed by 3.1 %"};
  controller().answer(
      "GET /v1/studies/predict?trials=12.3&nodes=1%2C4&revocations=0.05&hours=2&partition=spot",
      answer);
  const std::vector<std::string> words{"predict",       "12.3", "--nodes", "1,4",
                                       "--revocations", "0.05", "--hours", "2",
                                       "--partition",   "spot"};
  const Outcome outcome = thalweg(words);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out,
            "trial 12.3 to val/error 0.14: 64000 samples, 64 at a time\n"
            "nodes             samples/s  of sum\n"
            "    1  measured        1000   100 %\n"
            "    4  predicted       3600    90 %\n"
            "speeds predicted from fewer nodes missed by 3.1 %\nnote: sums\n");
  EXPECT_EQ(thalweg({"predict", "12.3", "--nodes", "1", "--of", "step"}).code, 2);
  EXPECT_EQ(thalweg({"predict", "12.3", "--nodes", "1", "--hours", "1", "--money", "1"}).code, 2);
  EXPECT_EQ(thalweg({"predict", "12.3"}).code, 2) << "on how many nodes?";
  EXPECT_EQ(thalweg({"predict", "--nodes", "4"}).code, 2) << "of which trial?";
}

TEST_F(CliStudies, PredictsBySimulationWhereOneNumberOfNodesWasMeasured) {
  json answer = forecast();
  const std::string asked = "GET /v1/studies/predict?trials=12.3&nodes=1%2C4";
  controller().answer(asked, answer);
  // Where it cannot be had it is said.
  script("thalweg-simulate", "echo 'no such model' >&2; exit 2");
  const Outcome none = thalweg({"predict", "12.3", "--nodes", "1,4"});
  EXPECT_EQ(none.code, 0) << none.err;
  EXPECT_THAT(none.out, testing::AllOf(HasSubstr("predicted"), HasSubstr("note: not simulated: ")));
  // Where it can be had its speeds go back to the controller, which prints them.
  const json row = {1,
                    R"({"model":{"name":"mlp","hidden":[8]},"data":{"name":"synthetic"}})",
                    R"({"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,)"
                    R"("threads_per_rank":1,"time_limit_s":3600})",
                    "train: {model: {name: mlp}}\n",
                    "one",
                    "local",
                    64};
  controller().answer("POST /v1/query", {{"columns", json::array()}, {"rows", {row}}});
  script(
      "thalweg-simulate",
      "case \"$*\" in *\"--ranks 4 \"*\"--gb-per-s 0.6875 \"*) speed=1600;; *) speed=800;; esac\n"
      "echo \"{\\\"trials\\\": [{\\\"samples_per_s\\\": $speed}]}\"");
  const double speed = 1000 * (64.0 / 800 + 0.001) / (64.0 / 1600 + 0.001);
  answer["rows"][1]["samples_per_s"] = speed;
  answer["rows"][1]["speed"] = "simulated";
  controller().answer(asked + fmt::format("&simulated=4%3A{}", speed), answer);
  const Outcome simulated = thalweg({"predict", "12.3", "--nodes", "1,4"});
  EXPECT_EQ(simulated.code, 0) << simulated.err;
  EXPECT_THAT(simulated.out,
              testing::AllOf(HasSubstr("4  simulated"),
                             HasSubstr("links of 5.5 Gbit/s (as 9.2 and others like it summed")));
  script("thalweg-simulate", "exit 2");
  EXPECT_NE(thalweg({"predict", "12.3", "--nodes", "1,4", "--simulate"}).code, 0);
  EXPECT_THAT(thalweg({"predict", "12.3", "--nodes", "1,4", "--no-simulation"}).out,
              testing::Not(HasSubstr("simulated")));
  EXPECT_EQ(thalweg({"predict", "12.3", "--nodes", "1", "--simulate", "--no-simulation"}).code, 2);
}

constexpr const char* kFitted = R"({"sweeps": [12], "metric": "val/error", "target": 0.14,
    "rows": [{"batch": 64, "steps": 3000}, {"batch": 256, "steps": 1500},
             {"batch": 1024, "steps": "inf"}],
    "fitted": true, "s_min": 1000, "e_min": 128000, "b_crit": 128, "noise_scale": 90,
    "notes": []})";

/// The points of the figure's series of this label.
json points_of(const json& figure, const std::string& label) {
  for (const json& series : figure.at("series"))
    if (series.at("label") == label) return series.at("points");
  ADD_FAILURE() << "no series " << label << " in " << figure.dump(1);
  return {};
}

TEST_F(CliStudies, FiguresDrawWhatWasPublishedWithoutAController) {
  for (const std::string number : {"1", "2", "3", "4", "5"}) {
    const json figure = thalweg_json({"figure", number, "--published", "--json"});
    ASSERT_GE(figure.at("series").size(), 2u) << number;
    for (const json& series : figure.at("series")) {
      EXPECT_NE(series.at("source"), "") << number;
      EXPECT_GE(series.at("points").size(), 2u) << number;
    }
    const Outcome drawn = thalweg({"figure", number, "--published"});
    EXPECT_EQ(drawn.code, 0) << drawn.err;
    EXPECT_THAT(drawn.out, HasSubstr("published: ")) << number;
    EXPECT_THAT(thalweg({"figure", number, "--published", "--svg", "-"}).out, StartsWith("<svg "));
  }
  EXPECT_TRUE(controller().requests().empty());
  // AI and Compute: 300,000 times from AlexNet to AlphaGo Zero.
  const json points =
      points_of(thalweg_json({"figure", "1", "--published", "--json"}), "published");
  EXPECT_NEAR(points.back()[1].get<double>() / points[1][1].get<double>(), 3e5, 1);
  const Outcome unknown = thalweg({"figure", "6"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("6"));
}

TEST_F(CliStudies, FigureOfComputingHasTheRunsOfTheRecord) {
  controller().answer("GET /v1/measurements?of=compute",
                      json::parse(R"({"points": [{"trial": "12.1", "x": 2026.5, "y": 1e-6},
                                                 {"trial": "13.1", "x": 2026.6, "y": 2e-6}]})"));
  EXPECT_EQ(points_of(thalweg_json({"figure", "1", "--json"}), "your runs"),
            (json{{2026.5, 1e-6}, {2026.6, 2e-6}}));
  EXPECT_EQ(points_of(thalweg_json({"figure", "1", "13", "--json"}), "your runs"),
            (json{{2026.6, 2e-6}}));
  EXPECT_THAT(thalweg({"figure", "1", "14"}).out,
              HasSubstr("note: no recorded run reports its floating point operations"));
}

TEST_F(CliStudies, FiguresOfBatchesStandInUnitsOfTheFit) {
  controller().answer("GET /v1/studies/batch?sweeps=12", json::parse(kFitted));
  EXPECT_EQ(points_of(thalweg_json({"figure", "2", "12", "--json"}), "your sweeps"),
            (json{{90.0, 128.0}}));
  const json figure = thalweg_json({"figure", "3", "12", "--json"});
  EXPECT_EQ(points_of(figure, "sweep 12"), (json{{0.5, 3.0}, {2.0, 1.5}})) << "on the curve";
  for (const json& point : points_of(figure, "1 + critical batch / batch"))
    EXPECT_NEAR(point[1].get<double>(), 1 + 1 / point[0].get<double>(), 1e-9);
  EXPECT_THAT(thalweg({"figure", "3", "12", "--csv"}).out,
              HasSubstr("sweep 12,batch 64,0.5,3,this record\n"));
  json unfitted = json::parse(kFitted);
  unfitted["fitted"] = false;
  controller().answer("GET /v1/studies/batch?sweeps=12", unfitted);
  EXPECT_THAT(thalweg({"figure", "3", "12"}).out,
              HasSubstr("sweep 12: no fit; it needs three batches that reach the target"));
  controller().answer("GET /v1/studies/batch?sweeps=12",
                      {{"error", {{"message", "sweep 12 has no target"}}}}, 400);
  const Outcome without = thalweg({"figure", "2", "12"});
  EXPECT_EQ(without.code, 0) << without.err;
  EXPECT_THAT(without.out, HasSubstr("note: sweep 12: sweep 12 has no target"));
}

TEST_F(CliStudies, FigureOfFrontiersIsInUnitsOfTheirLeast) {
  controller().answer("GET /v1/studies/pareto?sweeps=12", json::parse(R"({"rows": [
    {"target": 0.1, "seconds": 200, "node_seconds": 200},
    {"target": 0.1, "seconds": 100, "node_seconds": 400},
    {"target": 0.2, "seconds": 50, "node_seconds": 60}]})"));
  const json figure = thalweg_json({"figure", "4", "12", "--json"});
  EXPECT_EQ(points_of(figure, "sweep 12 to 0.1"), (json{{1.0, 2.0}, {2.0, 1.0}}));
  EXPECT_EQ(points_of(figure, "sweep 12 to 0.2"), (json{{1.0, 1.0}}));
}

TEST_F(CliStudies, FigureOfGradientsFollowsTheNoiseScale) {
  json points = json::array();
  for (int step = 1; step <= 9; ++step)
    points.push_back({step, step <= 3 ? 10 : step <= 6 ? 50 : 1000, 0, 1});
  controller().answer("GET /v1/sweeps/12/curves?metric=noise%2Fb_simple&points=300",
                      {{"metric", "noise/b_simple"}, {"curves", {{{"points", points}}}}});
  const json figure = thalweg_json({"figure", "5", "12", "--json"});
  for (const auto& [label, scale] : {std::pair{"sweep 12, early (noise scale 10)", 10.0},
                                     {"sweep 12, late (noise scale 1000)", 1000.0}})
    for (const json& point : points_of(figure, label))
      EXPECT_NEAR(point[1].get<double>(), 1 / std::sqrt(1 + scale / point[0].get<double>()), 1e-9);
  controller().answer("GET /v1/sweeps/12/curves?metric=noise%2Fb_simple&points=300",
                      {{"error", {{"message", "no such metric"}}}}, 404);
  EXPECT_THAT(thalweg({"figure", "5", "12"}).out, HasSubstr("no noise scale was measured"));
}

TEST_F(CliStudies, NamesOfGroupsHaveFewDigitsOnlyWhereAPersonReads) {
  const json answer = json::parse(R"({"study": "tuneability",
    "columns": [{"key": "group", "title": "lr", "shows": "text"},
                {"key": "setting", "title": "best setting", "shows": "text"}],
    "rows": [{"group": "adam, 0.33195324893514455, 12345678",
              "setting": "name=1.2.3.4, wd=0.45956661910978724"}], "notes": []})");
  for (const char* more : {"", "&scripts=1"})
    controller().answer("GET /v1/studies/tuneability?sweeps=12&by=lr" + std::string(more), answer);
  const std::string out = thalweg({"tuneability", "12", "--by", "lr"}).out;
  EXPECT_THAT(out, HasSubstr("adam, 0.332, 12345678"));
  EXPECT_THAT(out, HasSubstr("name=1.2.3.4, wd=0.4596"));
  const std::string csv = thalweg({"tuneability", "12", "--by", "lr", "--csv"}).out;
  EXPECT_THAT(csv, HasSubstr("0.33195324893514455"));
  EXPECT_THAT(csv, HasSubstr("wd=0.45956661910978724"));
}

TEST_F(CliStudies, PairsOfSweepsAreAskedByTheirNumbers) {
  controller().answer(
      "GET /v1/studies/profile?sweeps=12,13,14&by=optimizer.name&held_out=13%3A12%2C14%3A12",
      json::parse(R"({"columns": [{"key": "group", "title": "name", "shows": "text"},
                                  {"key": "sweep_12", "title": "sweep 12", "shows": "times"}],
                      "rows": [{"group": "adamw", "sweep_12": 1},
                               {"group": "sgd", "sweep_12": "inf"}]})"));
  const std::string out =
      thalweg({"profile", "12", "13", "14", "--by", "optimizer.name", "--held-out", "13=12,14=12"})
          .out;
  EXPECT_THAT(out, HasSubstr("adamw      1.00"));
  EXPECT_THAT(out, HasSubstr("sgd           –"));
  EXPECT_EQ(thalweg({"profile", "12", "--by", "a", "--held-out", "13"}).code, 2) << "of what?";
}

TEST_F(CliStudies, RowsOfTheRecordsStudiesAreCommands) {
  const json answer = json::parse(R"({"study": "regret",
    "columns": [{"key": "optimizer.name", "title": "name", "shows": "text", "note": ""},
                {"key": "budget", "title": "budget", "shows": "count", "note": ""},
                {"key": "best", "title": "val/error", "shows": "number", "note": ""}],
    "rows": [{"optimizer.name": "adamw", "budget": 1000, "best": 0.123456},
             {"optimizer.name": "sgd", "budget": 1, "best": null}],
    "notes": ["val/error: smaller is better"]})");
  controller().answer("GET /v1/studies/regret?sweeps=12,13&by=optimizer.name&in_order=1", answer);
  const std::vector<std::string> words{"regret",         "12",        "13", "--by",
                                       "optimizer.name", "--in-order"};
  const auto with = [&](const char* word) {
    std::vector<std::string> more = words;
    more.emplace_back(word);
    return more;
  };
  const std::string out = thalweg(words).out;
  EXPECT_THAT(out, HasSubstr("name   budget  val/error"));
  EXPECT_THAT(out, HasSubstr("adamw   1,000     0.1235"));
  EXPECT_THAT(out, HasSubstr("sgd         1          –"));
  EXPECT_THAT(out, HasSubstr("note: val/error: smaller is better"));
  controller().answer("GET /v1/studies/regret?sweeps=12,13&by=optimizer.name&in_order=1&scripts=1",
                      answer);
  EXPECT_THAT(thalweg(with("--csv")).out, HasSubstr("adamw,1000,0.123456"));
  EXPECT_EQ(thalweg_json(with("--json")), answer);
  EXPECT_EQ(thalweg({"regret", "--in-order", "--by", "optimizer.name", "12", "13"}).out, out)
      << "ids behind an option are ids";
  EXPECT_EQ(thalweg({"regret", "12.3"}).code, 2);
}

TEST_F(CliStudies, PredictsFromAFile) {
  const std::string file = folder("times.csv").string();
  write_file(file, "name,\"size, MB\",note,seconds\r\na,1,x,3\nb,2,,5\nc,,x,1\nd,3,\"\",7\n");
  const Outcome outcome =
      thalweg({"predict", file, "--x", "size, MB", "--y", "seconds", "--at", "10,0.5"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("3 samples: seconds by size, MB\nmodel "));
  EXPECT_THAT(outcome.out, HasSubstr("\nnote: 1 line without two numbers left out\n"));
  EXPECT_THAT(outcome.out, HasSubstr("\nlinear         0  0.0 %   1         1  2   –\n"));
  EXPECT_THAT(outcome.out, HasSubstr(" 10      21"));
  const json answer =
      thalweg_json({"predict", file, "--x", "size, MB", "--y", "seconds", "--at", "10", "--json"});
  EXPECT_EQ(answer["best"], "linear");
  EXPECT_NEAR(answer["rows"][0]["constant"].get<double>(), 1, 1e-9);
  EXPECT_NEAR(answer["rows"][0]["slope"].get<double>(), 2, 1e-9);
  const json predicted = answer["further"][0]["rows"][0];
  EXPECT_NEAR(predicted["linear"].get<double>(), 21, 1e-9);
  EXPECT_EQ(predicted["outside"], true);
  EXPECT_THAT(outcome.out, HasSubstr("linear (outside)"));
  EXPECT_THAT(outcome.out, HasSubstr("outside: no sample has these sizes; linear extrapolates from "
                                     "the range 1 to 3, which nothing here confirms"));
  const Outcome inside =
      thalweg({"predict", file, "--x", "size, MB", "--y", "seconds", "--at", "2"});
  EXPECT_THAT(inside.out, Not(HasSubstr("outside")));
  const Outcome missing = thalweg({"predict", file, "--x", "bytes"});
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.err, HasSubstr("has no column 'bytes'"));
  EXPECT_THAT(missing.err, HasSubstr("it has name, size, MB, note, seconds"));
  EXPECT_EQ(thalweg({"predict", file, "--at", "many"}).code, 2);
  EXPECT_EQ(thalweg({"predict", "--x", "bytes"}).code, 2) << "no file";
}

TEST_F(CliStudies, PredictsFromTheRecord) {
  controller().answer("GET /v1/studies/predict?of=checkpoint&device=cpu&at=4", json::parse(R"({
    "title": "3 samples: seconds a checkpoint by MB",
    "columns": [{"key": "model", "title": "model", "shows": "text"},
                {"key": "cv_mape", "title": "of y", "shows": "percent"}],
    "rows": [{"model": "linear", "cv_mape": 0.0123}]})"));
  EXPECT_EQ(thalweg({"predict", "--of", "checkpoint", "--device", "cpu", "--at", "4"}).out,
            "3 samples: seconds a checkpoint by MB\nmodel    of y\nlinear  1.2 %\n");
  EXPECT_EQ(thalweg({"predict", "--of", "compute"}).code, 2);
}

TEST_F(CliStudies, TakeSweeps) {
  controller();
  const Outcome outcome = thalweg({"scaling", "12.3"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("scaling takes sweeps, not 12.3"));
}

}  // namespace
}  // namespace thalweg::test
