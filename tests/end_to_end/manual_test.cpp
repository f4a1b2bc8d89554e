// Every example of every command's --help, of the manual pages and of the README, as it is printed,
// against a real controller: what the manual shows works.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
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

/// Any trial, for programs of the engine.
constexpr const char* kTrial = R"(seed: 1
train:
  model: {name: mlp, hidden: [8]}
  data: {name: fashion-mnist, fraction: 0.02}
  batch: {global: 64}
  optimizer: {name: sgd, lr: 0.1}
  steps: 2
)";

/// What an example needs to be run here; an example that is not in the table is run as it stands.
struct Needs {
  std::string before{};  ///< shell lines
  /// A part of the example, and what stands here instead of it.
  std::string part{}, instead{};
  int code = 0;
  std::string not_here{};  ///< why it is not run
};

using NeedsByExample = std::map<std::string, Needs>;

const NeedsByExample& needs_of_help() {
  const std::string ended = "thalweg watch 12";
  const std::string for_a_while = "timeout -s INT " + slowed_s(3) + " thalweg";
  static const NeedsByExample table{
      {"thalweg init", {.before = "mkdir -p new && cd new"}},
      {"thalweg run sweep.yaml --backend slurm",
       {.not_here = "slurm_sweep_test runs sweeps there"}},
      {"thalweg simulate sweep.yaml -n 256 --slowdown 1,1,1,4 --jitter 0.1 --points points.jsonl",
       {.before = "mkdir -p simulated && cp one.yaml simulated/sweep.yaml && cd simulated"}},
      {"thalweg import points.jsonl --name simulated", {.before = "cd simulated"}},
      {"thalweg ls --json | jq '.sweeps[].name'",
       {.part = "jq '.sweeps[].name'", .instead = "python3 -m json.tool"}},
      {"thalweg serve", {.part = "thalweg", .instead = for_a_while, .code = 124}},
      {"thalweg serve --port 8642 --by optimizer.name",
       {.part = "thalweg", .instead = for_a_while, .code = 124}},
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

const NeedsByExample& needs_of_pages() {
  const std::string slurm = "slurm_sweep_test runs ranks under srun";
  static const NeedsByExample table{
      {"srun -N2 --mpi=pmix thalweg-train trial.yaml", {.not_here = slurm}},
      {"srun -N 2 --ntasks-per-node 2 --mpi=pmix thalweg-perf all -a all --json perf.json --svg "
       "perf.svg",
       {.part = "srun -N 2 --ntasks-per-node 2 --mpi=pmix thalweg-perf",
        .instead = "thalweg-launch -n 2 -- thalweg-perf -e 4K -i 10"}},
      {"thalweg-launch -n 4 -- thalweg-perf --plot",
       {.part = "--plot", .instead = "--plot -e 64K"}},
      {"thalweg simulate sweep.yaml --ranks 16 --preset compute --target val/error=0.2",
       {.before = "mkdir -p simulated && cp one.yaml simulated/sweep.yaml && cd simulated"}},
      {"thalweg simulate sweep.yaml -n 256 --slowdown 1,1,1,4 --jitter 0.1 --points points.jsonl",
       {.before = "cd simulated", .part = "256", .instead = "16"}},
      {"thalweg import points.jsonl --name simulated", {.before = "cd simulated"}},
      {"thalweg submit --dry-run --backend slurm sweep.yaml",
       {.part = "--backend slurm", .instead = ""}},
      {"thalweg compare 12 --by optimizer.name --target 0.12", {.before = "thalweg watch 12"}},
      {"thalweg ls --json | jq '.sweeps[].name'",
       {.part = "jq '.sweeps[].name'", .instead = "python3 -m json.tool"}},
  };
  return table;
}

const NeedsByExample& needs_of_readme() {
  static const NeedsByExample table{
      {"thalweg run jobspec/examples/optimizers.yaml",
       {.part = "jobspec/examples/optimizers.yaml", .instead = "one.yaml"}},  // trains for minutes
      {"thalweg compare 1 --by optimizer.name", {.part = "compare 1", .instead = "compare 12"}},
  };
  return table;
}

std::string source_file(const std::string& name) {
  return read_file(fs::path(THALWEG_SOURCE_DIR) / name);
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

std::string plain(std::string line) {
  for (const auto& [escape, text] : {std::pair{"\\-", "-"}, {"\\(aq", "'"}, {"\\(dq", "\""}})
    for (std::size_t at; (at = line.find(escape)) != std::string::npos;)
      line.replace(at, std::string(escape).size(), text);
  return line;
}

/// The blocks of a manual page's section EXAMPLES.
std::vector<std::string> examples_of_page(const std::string& name) {
  std::vector<std::string> blocks;
  bool section = false, inside = false;
  for (const std::string& line : lines_of(source_file("packaging/man/" + name))) {
    if (line.starts_with(".SH")) section = line == ".SH EXAMPLES";
    if (section && line == ".nf") blocks.emplace_back();
    inside = section && (line == ".nf" || inside) && line != ".fi";
    if (inside && line != ".nf") blocks.back() += plain(line) + "\n";
  }
  return blocks;
}

/// What the README says in `code` or in a block of shell lines and that begins with a program of
/// ours; a command alone ("thalweg batch") is a name, not an example.
std::vector<std::string> lines_of_readme(std::set<std::string>& names) {
  const std::string text = source_file("README.md");
  std::vector<std::string> found;
  const std::regex code("`(thalweg [^`]+|thalweg-train [^`]+)`");
  for (std::sregex_iterator at(text.begin(), text.end(), code), end; at != end; ++at) {
    const std::string line = (*at)[1];
    const auto words = std::count(line.begin(), line.end(), ' ') + 1;
    if (words == 2 && line.starts_with("thalweg ") && line[8] != '-')
      names.insert(line.substr(8));
    else
      found.push_back(line);
  }
  bool shell = false;
  for (const std::string& line : lines_of(text)) {
    if (line.starts_with("```")) shell = line == "```sh";
    if (shell && line.starts_with("thalweg ")) found.push_back(line.substr(0, line.find("  ")));
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
    write_file(folder / "trial.yaml", kTrial);
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
    // thalweg-perf keeps two cores busy for 50 s where it has them for itself.
    return home_.shell("HOME=$PWD; export HOME; " + command, milliseconds(300000));
  }
  void expect(int code, const std::string& command) {
    const Outcome outcome = shell(command);
    EXPECT_EQ(outcome.code, code) << command << '\n' << outcome.out << outcome.err;
  }

  void run_example(const std::string& example, const NeedsByExample& needs) {
    SCOPED_TRACE(example);
    const auto found = needs.find(example);
    const Needs need = found == needs.end() ? Needs{} : found->second;
    if (!need.not_here.empty()) return;
    std::string command = example;
    if (!need.part.empty()) {
      const auto at = command.find(need.part);
      ASSERT_NE(at, std::string::npos);
      command.replace(at, need.part.size(), need.instead);
    }
    expect(need.code, need.before.empty() ? command : need.before + "\n" + command);
  }
  /// In the order of the list.
  std::vector<std::string> commands() {
    std::vector<std::string> names;
    const std::string help = shell("thalweg --help").out;
    for (const char* group :
         {"Start", "Watch", "Compare", "Study", "Share", "Keep", "Administrate"})
      for (const std::string& line : below(help, group))
        names.push_back(line.substr(0, line.find(' ')));
    return names;
  }
  std::vector<std::string> examples_of(const std::string& command) {
    return below(shell("thalweg " + command + " --help").out, "Example");
  }

  SweepHome home_;
};

/// The lines of all pages of commands; blocks of files have a test of their own.
std::vector<std::string> examples_of_pages() {
  std::set<std::string> pages;
  for (const auto& entry : fs::directory_iterator(fs::path(THALWEG_SOURCE_DIR) / "packaging/man"))
    pages.insert(entry.path().filename());
  std::vector<std::string> lines;
  for (const std::string& page : pages) {
    if (page.ends_with(".5")) continue;
    for (const std::string& block : examples_of_page(page))
      for (const std::string& line : lines_of(block))
        lines.push_back(line);
  }
  return lines;
}

constexpr std::size_t kParts = 4;

/// A quarter of the commands, in the order of the list: what one makes its neighbours use.
class ManualPart : public Manual, public testing::WithParamInterface<std::size_t> {};

TEST_P(ManualPart, EveryExampleOfItsCommandsWorks) {
  const std::vector<std::string> all = commands();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (i * kParts / all.size() == GetParam())
      for (const std::string& example : examples_of(all[i]))
        run_example(example, needs_of_help());
}

INSTANTIATE_TEST_SUITE_P(Of4, ManualPart, testing::Range(std::size_t{0}, kParts));

TEST_F(Manual, EveryExampleOfThePagesWorks) {
  for (const std::string& line : examples_of_pages())
    run_example(line, needs_of_pages());
}

/// Without sweeps.
class ManualFiles : public Manual {
 protected:
  void SetUp() override {}
};

TEST(Help, OfEveryProgramFitsATerminal) {
  const fs::path bin = THALWEG_BIN_DIR;
  std::vector<fs::path> programs{bin.parent_path() / "libexec/thalweg/thalweg-pack"};
  for (const auto& entry : fs::directory_iterator(bin))
    if (entry.path().filename().string().starts_with("thalweg")) programs.push_back(entry.path());
  for (const fs::path& name : programs) {
    const Outcome help = run({name.string(), "--help"});
    EXPECT_EQ(help.code, 0) << name;
    std::istringstream lines(help.out);
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(line.size(), 80u) << name << ": " << line;
  }
  EXPECT_GE(programs.size(), 8u);
}

TEST_F(ManualFiles, TablesNameOnlyExamplesThatStandSomewhere) {
  std::vector<std::string> of_help;
  const std::vector<std::string> all = commands();
  EXPECT_GT(all.size(), 40u);
  for (const std::string& command : all) {
    const std::vector<std::string> examples = examples_of(command);
    EXPECT_FALSE(examples.empty()) << command;
    of_help.insert(of_help.end(), examples.begin(), examples.end());
  }
  std::set<std::string> names;
  const std::vector<std::string> of_pages = examples_of_pages(), of_readme = lines_of_readme(names);
  EXPECT_GT(of_pages.size(), 12u);
  EXPECT_GT(of_readme.size(), 4u);
  EXPECT_GT(names.size(), 12u);
  for (const auto& [needs, examples] : {std::pair{needs_of_help(), of_help},
                                        {needs_of_pages(), of_pages},
                                        {needs_of_readme(), of_readme}})
    for (const auto& [example, need] : needs)
      EXPECT_THAT(examples, testing::Contains(example));
}

TEST_F(ManualFiles, OfThePagesAreTaken) {
  const std::vector<std::string> sweeps = examples_of_page("thalweg-sweep.5"),
                                 configs = examples_of_page("thalweg-config.5");
  ASSERT_FALSE(sweeps.empty());
  for (const std::string& text : sweeps) {
    write_file(home_.folder() / "shown.yaml", text);
    expect(0, "thalweg validate shown.yaml");
  }
  ASSERT_EQ(configs.size(), 2u);
  for (const std::string& text : configs) {
    write_file(home_.folder() / "site.yaml", text);
    expect(0,
           "THALWEG_HOME=$PWD/other THALWEG_SITE_CONFIG=$PWD/site.yaml thalweg daemon start\n"
           "THALWEG_HOME=$PWD/other thalweg daemon stop");
  }
}

TEST_F(ManualFiles, OfTheReadmeAreTaken) {
  write_file(home_.folder() / "train.py", "");
  const std::string text = source_file("README.md");
  int seen = 0;
  const std::string fence = "\n```yaml\n";
  for (auto at = text.find(fence); at != text.npos; at = text.find(fence, at + 1), ++seen) {
    const auto first = at + fence.size();
    write_file(home_.folder() / "shown.yaml",
               text.substr(first, text.find("\n```\n", first) + 1 - first));
    expect(0, "thalweg validate shown.yaml");
  }
  EXPECT_EQ(seen, 2);
}

TEST_F(Manual, EveryLineOfTheReadmeWorks) {
  std::set<std::string> names;
  const std::vector<std::string> lines = lines_of_readme(names);
  const std::vector<std::string> known = commands();
  for (const std::string& name : names)
    EXPECT_THAT(known, testing::Contains(name));
  for (const std::string& line : lines)
    run_example(line, needs_of_readme());
}

}  // namespace
}  // namespace thalweg::test
