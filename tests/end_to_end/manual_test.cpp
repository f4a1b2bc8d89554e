// Every example of every command's --help, as it is printed, against a real controller and in the
// order of the list of commands: what the manual shows works.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "tests/end_to_end/sweep_home.h"
#include "tests/support/npy.h"

namespace thalweg::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOne = R"(name: one
method: grid
parameters: {optimizer.lr: {value: 0.1}}
train:
  model: {name: mlp, hidden: [8]}
  data: {name: fashion-mnist, fraction: 0.05}
  batch: {global: 256}
  optimizer: {name: sgd}
  steps: 2
)";
constexpr const char* kRandom = R"(name: random
method: random
run_cap: 2
parameters: {optimizer.lr: {min: 0.01, max: 0.1}}
train:
  model: {name: mlp, hidden: [8]}
  data: {name: fashion-mnist, fraction: 0.02}
  optimizer: {name: sgd}
  steps: 2
)";
/// What most commands are about: two optimizers, rates and seeds each, three batches, a target.
constexpr const char* kSweep = R"(name: tiny
method: grid
metric: {name: val/error, goal: minimize, target: 0.8}
seeds: 2
parameters:
  optimizer.name: {values: [lamb, adamw]}
  optimizer.lr: {values: [0.01, 0.02]}
  batch.global: {values: [32, 64, 128]}
train:
  model: {name: mlp, hidden: [8]}
  data: {name: fashion-mnist, fraction: 0.02}
  epochs: 2
  eval: {every_steps: 4}
resources: {time: "00:05:00"}
)";

/// What an example needs to be run here; an example that is not in the table is run as it stands.
struct Needs {
  std::string before{};  ///< shell lines
  /// A part of the example, and what stands here instead of it.
  std::string part{}, instead{};
  int code = 0;
  std::string not_here{};  ///< why it is not run
};

const std::map<std::string, Needs>& needs() {
  const std::string ended = "thalweg watch 12";
  static const std::map<std::string, Needs> table{
      {"thalweg init", {.before = "mkdir -p new && cd new"}},
      {"thalweg run sweep.yaml --backend slurm",
       {.not_here = "slurm_sweep_test runs sweeps there"}},
      {"thalweg simulate sweep.yaml -n 256 --slowdown 1,1,1,4 --jitter 0.1 --points points.jsonl",
       {.before = "mkdir -p simulated && cp one.yaml simulated/sweep.yaml && cd simulated"}},
      {"thalweg import points.jsonl --name simulated", {.before = "cd simulated"}},
      {"thalweg ls --json | jq '.sweeps[].name'",
       {.part = "jq '.sweeps[].name'", .instead = "python3 -m json.tool"}},
      {"thalweg serve", {.part = "thalweg", .instead = "timeout -s INT 3 thalweg", .code = 124}},
      {"thalweg serve --port 8642 --by optimizer.name",
       {.part = "thalweg", .instead = "timeout -s INT 3 thalweg", .code = 124}},
      {"thalweg export 12 13.1 --format tensorboard -o logs && tensorboard --logdir logs",
       {.part = " && tensorboard --logdir logs", .instead = ""}},
      {"thalweg import runs/ --metric val/loss --target 0.3", {.before = "cp -r logs runs"}},
      {"thalweg extend 12 --trials +20 --dry-run", {.part = "12", .instead = "11"}},
      {"thalweg extend 12 --epochs 10", {.before = ended}},
      {"thalweg extend 12 --set 'parameters.optimizer.lr.values=[0.1, 0.2, 0.4]'",
       {.before = ended, .part = "0.1, 0.2", .instead = "0.01, 0.02"}},
      {"thalweg share 12 --group climate", {.code = 1}},  // says that a site's controller can
      {"thalweg share 12 --remove climate", {.code = 1}},
      {"thalweg archive 12", {.before = ended}},
      {"thalweg rm 12", {.part = "12", .instead = "12 --yes"}},  // it asks
      {"thalweg restore ~/thalweg-2026-11-01.db",
       {.before = "cp ~/thalweg-$(date +%F).db ~/thalweg-2026-11-01.db || true; thalweg daemon "
                  "stop"}},
      {"thalweg relocate /scratch/old/runs /scratch/new/runs",
       {.before = "mkdir -p new/runs",
        .part = "/scratch/old/runs /scratch/new/runs",
        .instead = "$PWD/old/runs $PWD/new/runs"}},
      {"thalweg completion bash > ~/.local/share/bash-completion/completions/thalweg",
       {.before = "mkdir -p ~/.local/share/bash-completion/completions"}},
  };
  return table;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  return lines;
}

/// The lines below "title:" that begin with two spaces and a letter, without the spaces.
std::vector<std::string> below(const std::string& text, const std::string& title) {
  std::vector<std::string> found;
  bool inside = false;
  for (const std::string& line : lines_of(text)) {
    if (!line.starts_with(" ")) inside = line == title + ":";
    if (inside && line.size() > 2 && line.starts_with("  ") && line[2] != ' ')
      found.push_back(line.substr(2));
  }
  return found;
}

class Manual : public testing::Test {
 protected:
  void SetUp() override {
    const fs::path folder = home_.folder();
    write_file(folder / "one.yaml", kOne);
    write_file(folder / "random.yaml", kRandom);
    write_file(folder / "sweep.yaml", kSweep);
    fs::create_directories(folder / "sweeps");
    write_file(folder / "sweeps/one.yaml", kOne);
    write_file(folder / "X.npy", npy_text("<f4", {60, 3}, std::vector<float>(180, 1)));
    write_file(folder / "y.npy", npy_text("<f4", {60}, std::vector<float>(60, 1)));
    write_file(folder / "times.csv", "megabytes,seconds\n10,4.1\n40,4.5\n33,4.4\n117,6.1\n");
    write_file(folder / "history.csv",
               "run,step,lr,batch,val/loss\na,1,0.1,32,2\na,2,0.1,32,1.5\nb,1,0.2,64,1.9\n");
    expect(0, "python3 -m zipfile -c runs.npz X.npy y.npy");
    // The sweeps of the examples are 12 to 14, and 11 draws its configurations.
    for (int i = 0; i < 10; ++i)
      expect(0, "thalweg submit one.yaml");
    expect(0, "thalweg submit random.yaml");
    for (int i = 0; i < 3; ++i)
      expect(0, "thalweg submit sweep.yaml");
    expect(0, "thalweg watch 14");
    expect(0, "thalweg watch 12");
  }

  Outcome shell(const std::string& command) {
    return home_.shell("HOME=$PWD; export HOME; " + command, milliseconds(120000));
  }
  void expect(int code, const std::string& command) {
    const Outcome outcome = shell(command);
    EXPECT_EQ(outcome.code, code) << command << '\n' << outcome.out << outcome.err;
  }

  void run_example(const std::string& example) {
    SCOPED_TRACE(example);
    const auto found = needs().find(example);
    const Needs need = found == needs().end() ? Needs{} : found->second;
    if (!need.not_here.empty()) return;
    std::string command = example;
    if (!need.part.empty()) {
      const auto at = command.find(need.part);
      ASSERT_NE(at, std::string::npos);
      command.replace(at, need.part.size(), need.instead);
    }
    expect(need.code, need.before.empty() ? command : need.before + "\n" + command);
  }

  SweepHome home_;
};

TEST_F(Manual, EveryExampleOfEveryCommandWorks) {
  std::size_t commands = 0, seen = 0;
  for (const std::string& line : below(shell("thalweg --help").out, "Commands")) {
    const std::string name = line.substr(0, line.find(' '));
    ++commands;
    const std::vector<std::string> examples =
        below(shell("thalweg " + name + " --help").out, "Example");
    EXPECT_FALSE(examples.empty()) << name;
    for (const std::string& example : examples) {
      seen += needs().count(example);
      run_example(example);
    }
  }
  EXPECT_GT(commands, 40u);
  EXPECT_EQ(seen, needs().size()) << "the table names an example that no help text has";
}

}  // namespace
}  // namespace thalweg::test
