// Weights out of checkpoints: judged as training judged them, and written for other programs.
#include "engine/train/export.h"

#include <gmock/gmock.h>

#include <cstring>
#include <fstream>
#include <map>

#include "engine/data/array.h"
#include "engine/train/checkpoint.h"
#include "engine/train/restored.h"
#include "tests/engine/train/support.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

using jobspec::Map;
using jobspec::Trial;
using jobspec::Value;
using testing::ElementsAre;
using testing::HasSubstr;

/// Trained, with its trial.yaml beside the checkpoints.
void train_for_export(const std::filesystem::path& folder, const Trial& trial) {
  run_to_end(trial, folder, 2);
  jobspec::write_trial(trial, folder / "trial.yaml");
}

std::map<std::string, double> last_validation(const std::filesystem::path& folder) {
  std::map<std::string, double> last;
  for (const Value& line : lines_of(read_journal(folder), "metrics"))
    for (const Value& point : line.find("points")->as_list()) {
      const std::string& name = point.as_list()[0].as_string();
      if (name.starts_with("val/") || name.starts_with("test/"))
        last[name] = point.as_list()[2].as_double();
    }
  return last;
}

TEST(Evaluate, GivesTheNumbersThatTrainingGave) {
  for (const char* optimizer : {"adamw", "schedule_free_sgd"}) {
    const test::TempDir folder;
    Trial trial = tiny_trial();
    trial.train.set("data.test_samples", 48);
    trial.train.set("optimizer", Map{{"name", optimizer}, {"lr", 0.01}});
    trial.train.set("schedule", Map{{"decay", "constant"}});
    train_for_export(folder.path(), trial);
    const auto trained = last_validation(folder.path());
    ASSERT_EQ(trained.size(), 8u);
    const Value answer =
        jobspec::read_yaml(evaluate_trial(folder.path() / "trial.yaml", {}, true), "answer");
    EXPECT_EQ(answer.find("step")->as_int(), 54);
    for (const auto& [name, value] : trained) {
      const Value* found = nullptr;
      for (const auto& [key, number] : answer.find("metrics")->as_map())
        if (key == name) found = &number;
      ASSERT_NE(found, nullptr) << name;
      EXPECT_EQ(found->as_double(), value) << optimizer << " " << name;
    }
    EXPECT_THAT(evaluate_trial(folder.path() / "trial.yaml", {}, false),
                testing::AllOf(HasSubstr("step 54"), HasSubstr("test/error")));
  }
}

TEST(Evaluate, TakesTheCheckpointThatIsNamed) {
  const test::TempDir folder, bare;
  Trial trial = tiny_trial();
  train_for_export(folder.path(), trial);
  const auto file = folder.path() / "checkpoints" / checkpoint_name(40);
  EXPECT_THAT(evaluate_trial(folder.path() / "trial.yaml", file, false),
              HasSubstr("step-000000000040.ckpt, step 40"));
  jobspec::write_trial(trial, bare.path() / "trial.yaml");
  EXPECT_THAT(
      [&] { evaluate_trial(bare.path() / "trial.yaml", {}, false); },
      testing::ThrowsMessage<std::invalid_argument>(HasSubstr("there is no checkpoint in")));
  trial.train.set("model.hidden", jobspec::List{13});
  jobspec::write_trial(trial, bare.path() / "trial.yaml");
  EXPECT_THAT([&] { evaluate_trial(bare.path() / "trial.yaml", file, false); },
              testing::ThrowsMessage<BadCheckpoint>(HasSubstr("not those of this trial's model")));
}

std::vector<float> values_in(const std::filesystem::path& file, const std::string& member) {
  const Array array = read_array(file.string() + ":" + member);
  std::vector<float> values(static_cast<std::size_t>(array.count()));
  array.read(0, array.count(), 0, 1, values.data());
  return values;
}

TEST(Export, WritesPyTorchsNamesInBothFormats) {
  const test::TempDir folder;
  train_for_export(folder.path(), tiny_trial());
  const auto trial = folder.path() / "trial.yaml", npz = folder.path() / "model.npz",
             tensors = folder.path() / "model.safetensors";
  EXPECT_THAT(export_trial(trial, {}, npz), HasSubstr("of step 60"));
  export_trial(trial, {}, tensors);

  const Checkpoint c = read_checkpoint(folder.path() / "checkpoints" / checkpoint_name(60));
  std::ifstream in(tensors, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  std::uint64_t length = 0;
  ASSERT_GT(bytes.size(), sizeof length);
  std::memcpy(&length, bytes.data(), sizeof length);
  const Value header = jobspec::read_yaml(bytes.substr(sizeof length, length), "header");
  std::vector<std::string> names;
  std::vector<float> weights, statistics;
  for (const auto& [name, about] : header.as_map()) {
    if (name == "__metadata__") continue;
    names.push_back(name);
    EXPECT_EQ(about.find("dtype")->as_string(), "F32");
    const auto begin = static_cast<std::size_t>(about.find("data_offsets")->as_list()[0].as_int()),
               end = static_cast<std::size_t>(about.find("data_offsets")->as_list()[1].as_int());
    std::vector<float> values((end - begin) / sizeof(float));
    std::int64_t count = 1;
    for (const Value& n : about.find("shape")->as_list())
      count *= n.as_int();
    EXPECT_EQ(static_cast<std::size_t>(count), values.size());
    std::memcpy(values.data(), bytes.data() + sizeof length + length + begin, end - begin);
    EXPECT_EQ(values_in(npz, name), values) << name;
    auto& to = name.find("running_") == name.npos ? weights : statistics;
    to.insert(to.end(), values.begin(), values.end());
  }
  EXPECT_EQ(weights, c.parameters);  // in the order of the plain layout
  EXPECT_EQ(statistics, c.running);
  EXPECT_THAT(names,
              testing::IsSupersetOf({HasSubstr(".weight"), HasSubstr(".bias"),
                                     HasSubstr(".running_mean"), HasSubstr(".running_var")}));
}

TEST(Export, WritesTheModelAsOnnx) {
  const test::TempDir folder;
  train_for_export(folder.path(), tiny_trial());
  const auto trial = folder.path() / "trial.yaml", npz = folder.path() / "model.npz",
             onnx = folder.path() / "model.onnx";
  export_trial(trial, {}, npz);
  EXPECT_THAT(export_trial(trial, {}, onnx), HasSubstr("of step 60"));
  const std::string bytes = test::read_file(onnx);
  const Checkpoint c = read_checkpoint(folder.path() / "checkpoints" / checkpoint_name(60));
  ASSERT_FALSE(c.names.empty());
  for (const WeightName& w : c.names) {
    const std::vector<float> values = values_in(npz, w.name);
    const std::string raw(reinterpret_cast<const char*>(values.data()),
                          values.size() * sizeof(float));
    EXPECT_NE(bytes.find(w.name), bytes.npos) << w.name;
    EXPECT_NE(bytes.find(raw), bytes.npos) << w.name;
  }
}

TEST(Evaluate, IsNotForProgramsOfOnesOwn) {
  const test::TempDir folder;
  Trial trial = tiny_trial();
  trial.program.emplace().command = {"python3", "train.py"};
  jobspec::write_trial(trial, folder.path() / "trial.yaml");
  EXPECT_THAT([&] { evaluate_trial(folder.path() / "trial.yaml", {}, false); },
              testing::ThrowsMessage<std::invalid_argument>(
                  HasSubstr("only it can read the checkpoints that it has written")));
}

TEST(Export, RefusesAnotherEnding) {
  EXPECT_THAT([] { export_trial("/nowhere/trial.yaml", {}, "model.pt"); },
              testing::ThrowsMessage<std::invalid_argument>(
                  HasSubstr("use one that ends with .npz or .safetensors or .onnx")));
}

}  // namespace
}  // namespace thalweg::engine
