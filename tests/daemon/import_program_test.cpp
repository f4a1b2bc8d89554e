// What `thalweg export` writes comes back through `thalweg import`, with the real programs and a
// controller that is killed in between.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>

#include "daemon/api/client.h"
#include "tests/support/process.h"

namespace thalweg::daemon {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

class ImportProgram : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(home_.directory);
    test::write_file(home_.config(),
                     "backend: local\ningest_interval: 0.05\nlocal:\n  poll_interval: 0.05\n  "
                     "cores: 4\n  engine_program: " +
                         std::string(THALWEG_SOURCE_DIR) + "/tests/daemon/support/engine.sh\n");
    test::write_file(dir_.path() / "sweep.yaml",
                     "name: first\nmethod: grid\nseeds: 2\nparameters:\n"
                     "  optimizer.lr: {values: [0.1, 0.25]}\n"
                     "metric: {name: val/error, goal: minimize, target: 0.25}\n"
                     "train: {steps: 7}\n");
    ASSERT_EQ(thalweg({"run", "sweep.yaml"}).code, 0);
  }
  void TearDown() override {
    for (const pid_t pid :
         test::processes_with_environment("THALWEG_HOME=" + home_.directory.string()))
      kill(pid, SIGKILL);
  }
  test::Outcome thalweg(std::vector<std::string> words, const std::string& fault = "") {
    words.insert(words.begin(), "thalweg");
    test::RunOptions options;
    options.directory = dir_.path();
    options.env["THALWEG_HOME"] = home_.directory;
    if (!fault.empty()) options.env["THALWEG_FAULT"] = fault;
    return test::run(words, options);
  }
  json answer(std::vector<std::string> words) {
    words.emplace_back("--json");
    const test::Outcome outcome = thalweg(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return json::parse(outcome.out, nullptr, false);
  }
  pid_t controller() {
    const json status = json::parse(test::read_file(home_.status_file()), nullptr, false);
    return status.is_object() ? status.value("pid", 0) : 0;
  }
  void kill_controller() {
    const pid_t pid = controller();
    ASSERT_GT(pid, 0);
    kill(pid, SIGKILL);
    ASSERT_TRUE(test::eventually([&] { return test::command_line(pid).empty(); }));
  }
  json rows(const std::string& sql) { return answer({"query", sql})["rows"]; }
  json points(const std::string& sweep, bool exact) {
    const std::string value = exact ? "value" : "round(value, 6)";
    return rows("SELECT trial, metric, step, " + value +
                ", time FROM metrics WHERE sweep = " + sweep + " ORDER BY trial, metric, step");
  }
  json trials(const std::string& sweep) {
    return rows("SELECT trial, configuration, seed, parameters, state FROM trials WHERE sweep = " +
                sweep + " ORDER BY trial");
  }

  test::TempDir dir_;
  api::Home home_{dir_.path() / "home"};
};

TEST_F(ImportProgram, WhatExportWritesComesBack) {
  ASSERT_EQ(points("1", true).size(), 4u * 2 * 7);
  for (const char* format : {"jsonl", "csv", "tensorboard"}) {
    const std::string out = "out-" + std::string(format);
    ASSERT_EQ(thalweg({"export", "1", "--format", format, "-o", out}).code, 0);
    const json imported = answer({"import", out, "--target", "0.25"});
    const std::string id = imported["id"];
    kill_controller();
    const bool exact = std::string(format) != "tensorboard";  // that holds single precision
    EXPECT_EQ(points(id, exact), points("1", exact)) << format;
    const json sweep = answer({"show", id});
    EXPECT_EQ(sweep["state"], "finished");
    EXPECT_EQ(sweep["backend"], "imported");
    EXPECT_EQ(sweep["metric"], "val/error");
    EXPECT_EQ(sweep["name"], out);
    if (std::string(format) == "csv") {
      EXPECT_EQ(sweep["trials"][3]["parameters"], json({{"run", "1.4"}}))
          << "the table has no parameters";
      continue;
    }
    EXPECT_EQ(trials(id), trials("1")) << format;
    const json both = answer({"compare", "1", id, "--by", "optimizer.lr"});
    ASSERT_EQ(both["rows"].size(), 2u) << both.dump(1);
    EXPECT_EQ(both["rows"][0]["trials"].size(), 4u);
    EXPECT_EQ(both["rows"][0]["steps_to_target"]["reached"], 4);
    EXPECT_NEAR(both["rows"][0]["best"]["median"], 0.21, 1e-6);
  }
  for (const std::vector<std::string>& words : {std::vector<std::string>{"show", "2.1"},
                                                {"show", "2.1.1"},
                                                {"curve", "2.1", "val/error"},
                                                {"report", "2", "-o", "report.html"},
                                                {"compare", "2", "3"},
                                                {"ls"},
                                                {"archive", "3"},
                                                {"export", "2", "--format", "csv"},
                                                {"profile", "1", "2", "--by", "optimizer.lr"},
                                                {"watch", "2"},
                                                {"timeline", "2.1"},
                                                {"tag", "2", "old"}}) {
    const test::Outcome outcome = thalweg(words);
    EXPECT_EQ(outcome.code, 0) << words[0] << ' ' << words[1] << '\n' << outcome.out << outcome.err;
  }
}

TEST_F(ImportProgram, NothingRunsImportedTrialsAndRmRemovesThem) {
  ASSERT_EQ(thalweg({"export", "1", "--format", "jsonl", "-o", "p.jsonl"}).code, 0);
  ASSERT_EQ(answer({"import", "p.jsonl"})["id"], "2");
  for (const std::vector<std::string>& words : {std::vector<std::string>{"retry", "2"},
                                                {"extend", "2", "--seeds", "+1"},
                                                {"rerun", "2.1"},
                                                {"submit", "--from", "2", "--best"},
                                                {"evaluate", "2.1"},
                                                {"logs", "2.1"},
                                                {"export", "2.1", "-o", "w.npz"}}) {
    const test::Outcome outcome = thalweg(words);
    EXPECT_NE(outcome.code, 0) << words[0] << '\n' << outcome.out;
    EXPECT_THAT(outcome.err,
                testing::AnyOf(HasSubstr("of another program"), HasSubstr("of other programs")));
  }
  EXPECT_EQ(rows("SELECT count(*) FROM trials WHERE sweep > 2"), json::parse("[[0]]"));
  ASSERT_EQ(thalweg({"rm", "2", "--yes"}).code, 0);
  EXPECT_TRUE(
      test::eventually([&] { return rows("SELECT 1 FROM attempts WHERE sweep = 2").empty(); }));
}

TEST_F(ImportProgram, AKillWithinLeavesNothing) {
  ASSERT_EQ(thalweg({"export", "1", "--format", "jsonl", "-o", "p.jsonl"}).code, 0);
  ASSERT_EQ(thalweg({"daemon", "stop"}).code, 0);
  ASSERT_EQ(thalweg({"daemon", "start"}, "in_import:1").code, 0);
  EXPECT_NE(thalweg({"import", "p.jsonl"}).code, 0);
  EXPECT_EQ(rows("SELECT DISTINCT sweep FROM trials"), json::parse("[[1]]"));
  EXPECT_EQ(answer({"ls"})["sweeps"].size(), 1u);
  EXPECT_EQ(answer({"import", "p.jsonl"})["trials"], 4);
}

}  // namespace
}  // namespace thalweg::daemon
