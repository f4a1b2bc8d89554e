// --describe: what it tells is what a run then is, of many trials at once and without their data.
#include "engine/train/describe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <sstream>

#include "engine/data/array.h"
#include "engine/train/check.h"
#include "engine/train/program.h"
#include "jobspec/schema.h"
#include "tests/engine/train/support.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

using jobspec::List;
using jobspec::Map;
using jobspec::Trial;
using jobspec::Value;
using testing::HasSubstr;

struct Told {
  bool fine = false;
  std::string text, err;
  std::vector<Value> lines;  ///< with JSON
};

Told describe(const std::vector<std::string>& files, bool json, const std::string& input = "") {
  std::istringstream in(input);
  std::ostringstream out, err;
  Told told;
  told.fine = describe_trials(files, {json, false}, {in, out, err});
  told.text = out.str();
  told.err = err.str();
  std::istringstream rows(told.text);
  for (std::string row; json && std::getline(rows, row);)
    told.lines.push_back(jobspec::read_yaml(row, "line"));
  return told;
}

std::int64_t whole(const Value& value, const char* key) {
  return value.find(key)->as_int();
}

/// A rank has most to do, and to keep, on the fewest nodes.
TEST(Describe, PlansElasticTrialsForTheFewestNodes) {
  const test::TempDir folder;
  const auto told_of = [&](int fewest, int most, int threads) {
    Trial trial = tiny_trial();
    trial.train.set("batch.shards", 8);
    trial.resources.nodes = most;
    trial.resources.min_nodes = fewest;
    trial.resources.threads_per_rank = threads;
    jobspec::write_trial(trial, folder.path() / "trial.yaml");
    return std::pair(describe({folder.path() / "trial.yaml"}, false).text,
                     describe({folder.path() / "trial.yaml"}, true).lines.at(0));
  };
  const auto elastic = told_of(2, 8, 4), narrow = told_of(0, 2, 4), wide = told_of(0, 8, 4);
  EXPECT_THAT(elastic.first, HasSubstr(" 2 to 8 ranks, 4 threads each"));
  EXPECT_THAT(wide.first, HasSubstr(" 8 ranks, 1 thread each"));
  EXPECT_EQ(whole(elastic.second, "fewest_ranks"), 2);
  EXPECT_EQ(whole(elastic.second, "ranks"), 8);
  EXPECT_EQ(wide.second.find("fewest_ranks"), nullptr);
  const auto memory = [](const Value& line) {
    return whole(*line.find("memory"), "host_bytes_per_rank");
  };
  EXPECT_EQ(memory(elastic.second), memory(narrow.second));
  EXPECT_GT(memory(elastic.second), memory(wide.second));
}

TEST(Describe, TellsWhatTheRunIs) {
  const test::TempDir folder;
  Trial trial = tiny_trial();
  trial.resources.ranks_per_node = 2;
  trial.sweep_ranks = 2;
  jobspec::write_trial(trial, folder.path() / "trial.yaml");
  const Told told = describe({(folder.path() / "trial.yaml").string()}, true);
  ASSERT_TRUE(told.fine) << told.text;
  const Value& line = told.lines.at(0);
  run_to_end(trial, folder.path(), 2);
  const Value start = read_journal(folder.path()).front();
  for (const char* key : {"parameters", "shards", "ranks", "steps", "steps_per_epoch"})
    EXPECT_EQ(whole(line, key), whole(start, key)) << key;
  EXPECT_EQ(line.find("flops.training")->as_double(), start.find("flops_per_sample")->as_double());
  EXPECT_EQ(whole(line, "training_samples"), 480);
  EXPECT_EQ(whole(line, "validation_samples"), 48);
  EXPECT_EQ(whole(line, "batch"), 24);
  EXPECT_EQ(whole(line, "micro_batches"), 1);
  EXPECT_EQ(whole(line, "sample_bytes"), 16 * 4 + 4);
  std::int64_t parameters = 0;
  double work = 0;
  for (const Value& layer : line.find("layers")->as_list()) {
    parameters += whole(layer, "parameters");
    work += layer.find("flops.training")->as_double();
  }
  EXPECT_EQ(parameters, whole(line, "parameters"));
  EXPECT_EQ(work, line.find("flops.training")->as_double());
  EXPECT_EQ(line.find("layers")->as_list().front().find("output")->to_json(), "[12]");
}

/// Device memory is --check's; that of the samples is counted, not measured.
TEST(Describe, MemoryIsWhatCheckPlans) {
  Trial trial = tiny_trial();
  trial.train.set("device", "cpu");
  const auto report_of = [&](bool contents) {
    return Checker({false, contents}).check({trial.train, trial.resources, "trial"});
  };
  const CheckReport loaded = report_of(true), described = report_of(false);
  ASSERT_TRUE(described.needs);
  EXPECT_EQ(described.needs->table(), loaded.needs->table());
  EXPECT_EQ(described.data_bytes, 528u * 16 * 4);
}

TEST(Describe, TakesManyTrialsAsLines) {
  std::string input;
  for (const int width : {8, 12, 0, 16})
    input += Value(Map{{"train", Map{{"model", Map{{"name", "mlp"}, {"hidden", List{width}}}},
                                     {"data", Map{{"name", "synthetic"}}},
                                     {"optimizer", Map{{"name", "sgd"}}},
                                     {"epochs", 1}}}})
                 .to_json() +
             "\n";
  input += "{\"trian\": 1}\n";
  const Told told = describe({"-"}, true, input);
  EXPECT_FALSE(told.fine);
  ASSERT_EQ(told.lines.size(), 5u);
  EXPECT_EQ(whole(told.lines[0], "parameters"), 16 * 8 + 8 + 8 * 10 + 10);
  EXPECT_EQ(whole(told.lines[3], "parameters"), 16 * 16 + 16 + 16 * 10 + 10);
  EXPECT_EQ(told.lines[2].find("ok")->to_json(), "false");
  EXPECT_THAT(told.lines[2].find("errors")->to_json(), HasSubstr("hidden"));
  EXPECT_EQ(told.lines[4].find("file")->as_string(), "standard input:5");
  EXPECT_THAT(told.lines[4].find("errors")->to_json(), HasSubstr("trian"));
  const Told text = describe({"-"}, false, input);
  EXPECT_THAT(text.text, HasSubstr("standard input:1: mlp on synthetic"));
  EXPECT_THAT(text.text, HasSubstr("training FLOPs"));
  EXPECT_THAT(text.err, HasSubstr("standard input:3: "));
}

/// 400 GB that are nowhere on the disk.
TEST(Describe, LoadsNoData) {
  const test::TempDir folder;
  const auto hole = [&](const char* name, const char* type, std::vector<std::int64_t> shape,
                        std::size_t bytes) {
    const std::string header = npy_header(type, shape), path = (folder.path() / name).string();
    test::write_file(path, header);
    EXPECT_EQ(truncate(path.c_str(), static_cast<off_t>(header.size() + bytes)), 0);
    return path;
  };
  constexpr std::int64_t samples = 100'000'000;
  Value train = Map{{"model", Map{{"name", "mlp"}}},
                    {"data", Map{{"name", "arrays"},
                                 {"inputs", hole("x.npy", "<f4", {samples, 1000}, samples * 4000)},
                                 {"labels", hole("y.npy", "<i8", {samples}, samples * 8)}}},
                    {"optimizer", Map{{"name", "sgd"}}},
                    {"steps", 10}};
  const Value open = describe({"-"}, true, Value(Map{{"train", train}}).to_json()).lines.at(0);
  EXPECT_EQ(open.find("ok")->to_json(), "true");
  EXPECT_EQ(whole(open, "training_samples"), samples - samples / 12);
  EXPECT_EQ(whole(open, "parameters"), 0) << "the number of classes is in the labels";
  EXPECT_THAT(open.find("unseen")->to_json(), HasSubstr("data.classes"));
  EXPECT_THAT(open.find("notes")->to_json(), HasSubstr("the model was not checked"));
  train.set("data.classes", 10);
  const Value told = describe({"-"}, true, Value(Map{{"train", train}}).to_json()).lines.at(0);
  EXPECT_EQ(whole(told, "parameters"), 1000 * 512 + 512 + 512 * 512 + 512 + 512 * 10 + 10);
  EXPECT_EQ(whole(told, "memory.sample_bytes_per_rank"), 0) << "mapped";
}

TEST(Describe, AMissingFileIsAMistake) {
  const Told told = describe({"/no/such/trial.yaml"}, false);
  EXPECT_FALSE(told.fine);
  EXPECT_THAT(told.err, HasSubstr("/no/such/trial.yaml: "));
  EXPECT_EQ(run_program({"--describe"}), 2);
  EXPECT_EQ(run_program({"--check", "a.yaml", "b.yaml"}), 2);
}

}  // namespace
}  // namespace thalweg::engine
