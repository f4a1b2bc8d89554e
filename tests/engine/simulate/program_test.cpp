// The command line, the table and what is written: of small sweeps.
#include "engine/simulate/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/command_line.h"
#include "engine/simulate/options.h"
#include "engine/simulate/report.h"
#include "jobspec/diagnostic.h"
#include "jobspec/value.h"
#include "tests/support/process.h"

namespace thalweg::engine::simulate {
namespace {

using jobspec::Value;
using testing::HasSubstr;

constexpr const char* kSweep = R"(name: modes
method: grid
metric: {name: val/error, goal: minimize, target: 0.3}
parameters:
  sync.mode: {values: [sync, async]}
train:
  model: {name: mlp, hidden: [16]}
  data: {name: synthetic, samples: 1088, validation: 64, noise: 0.5}
  batch: {global: 64, shards: 4}
  epochs: 4
  optimizer: {name: momentum, lr: 0.05}
resources: {nodes: 4}
)";

class Program : public testing::Test {
 protected:
  void SetUp() override { std::ofstream(file()) << kSweep; }
  std::string file() const { return (folder_.path() / "sweep.yaml").string(); }
  std::string path(const char* name) const { return (folder_.path() / name).string(); }

  int run(std::vector<std::string> words) {
    words.push_back(file());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = run_program(words);
    out_ = testing::internal::GetCapturedStdout();
    err_ = testing::internal::GetCapturedStderr();
    return code;
  }

  thalweg::test::TempDir folder_;
  std::string out_, err_;
};

TEST_F(Program, TellsWhenEachTrialReachedTheTarget) {
  ASSERT_EQ(run({"--json", "--slowdown", "3,1", "--sample-us", "500", "--out", path("out")}), 0)
      << err_;
  const Value answer = jobspec::read_yaml(out_, "answer");
  const auto& trials = answer.find("trials")->as_list();
  ASSERT_EQ(trials.size(), 2u);
  for (const Value& trial : trials) {
    EXPECT_LE(trial.find("value")->as_double(), 0.3);
    EXPECT_EQ(trial.find("idle")->as_list().size(), 4u);
    // It ends where the target is reached.
    EXPECT_NEAR(trial.find("seconds_to_target")->as_double(), trial.find("seconds")->as_double(),
                1e-3);
    // 16 samples of 1.5 ms a step on the slow ranks.
    EXPECT_GE(trial.find("seconds")->as_double(), trial.find("steps")->as_double() * 16 * 1.5e-3);
  }
  EXPECT_EQ(trials[0].find("parameters")->to_json(), R"({"sync.mode":"sync"})");
  // Those of speed 3 wait for the others, or run ahead of them.
  EXPECT_NEAR(trials[0].find("idle")->as_list()[1].as_double(), 2.0 / 3, 0.02);
  EXPECT_GT(trials[1].find("staleness_mean")->as_double(), 1);
  EXPECT_THAT(err_, HasSubstr("0.2.0: stopped: val/error"));
  for (const char* trial : {"trial-1", "trial-2"})
    EXPECT_THAT(thalweg::test::read_file(folder_.path() / "out" / trial / "journal.jsonl"),
                HasSubstr(R"("emulated":"simulated own")"));
  EXPECT_EQ(run({"--out", path("out")}), 2);
  EXPECT_THAT(err_, HasSubstr("exists already"));
}

TEST_F(Program, ShowsATableAndWritesPointsThatSayWhatTheyAre) {
  ASSERT_EQ(run({"--trial", "2", "-n", "2", "--target", "val/accuracy=0.5", "--points",
                 path("points.jsonl")}),
            0)
      << err_;
  EXPECT_THAT(out_, HasSubstr("simulated: 2 ranks"));
  EXPECT_THAT(out_, HasSubstr("mode=async"));
  EXPECT_THAT(out_, HasSubstr("val/accuracy"));
  std::ifstream lines(path("points.jsonl"));
  std::string line;
  std::getline(lines, line);
  const Value trial = jobspec::read_yaml(line, "points");
  EXPECT_EQ(trial.find("kind")->as_string(), "trial");
  EXPECT_THAT(trial.find("parameters.simulated")->as_string(), HasSubstr("2 ranks"));
  EXPECT_EQ(trial.find("goal")->as_string(), "maximize");
  int points = 0;
  for (; std::getline(lines, line); ++points)
    EXPECT_EQ(jobspec::read_yaml(line, "points").find("kind")->as_string(), "point");
  EXPECT_GT(points, 10);

  const std::string before = thalweg::test::read_file(path("points.jsonl"));
  for (const char* file : {"points.jsonl", "none.jsonl"})
    EXPECT_EQ(run({"--trial", "99", "--points", path(file)}), 2);
  EXPECT_EQ(thalweg::test::read_file(path("points.jsonl")), before);
  EXPECT_FALSE(std::filesystem::exists(path("none.jsonl")));
}

// What is won in each of the heterogeneous settings is time that others wait; what becomes of the
// samples is another matter (engine/simulate/README.md).
TEST_F(Program, AbsTakesMoreSamplesThanOthersOnUnequalRanks) {
  const auto rates = [&](const char* preset, const char* batch) {
    std::string sweep = kSweep;
    const auto put = [&](const std::string& old, const std::string& text) {
      sweep.replace(sweep.find(old), old.size(), text);
    };
    put("target: 0.3", "target: 0");
    put("[sync, async]", "[sync, async, abs]");
    put("{global: 64, shards: 4}", batch);
    put("  epochs: 4\n", "  epochs: 4\n  log: {every: 1000}\n  eval: {every_epochs: 4}\n");
    std::ofstream(file()) << sweep;
    EXPECT_EQ(run({"--json", "--preset", preset, "--sample-us", "50", "--latency-us", "50",
                   "--gb-per-s", "1"}),
              0)
        << err_;
    std::vector<double> all;
    const Value answer = jobspec::read_yaml(out_, "answer");
    for (const Value& trial : answer.find("trials")->as_list())
      all.push_back(trial.find("samples_per_s")->as_double());
    return all;
  };
  for (const char* preset : {"compute", "network", "mixed"}) {
    const auto equal = rates(preset, "{global: 64, shards: 4}");
    const auto shared = rates(preset, "{global: 64, shards: 8, measure_shares: true}");
    const double best = std::max({equal.at(0), equal.at(1), shared.at(0)});
    EXPECT_GT(equal.at(2), best) << preset;
  }
}

TEST_F(Program, SaysWhatIsWrong) {
  EXPECT_EQ(run({"--ranks", "2049"}), 2);
  EXPECT_THAT(err_, HasSubstr("from 1 to 2048"));
  EXPECT_EQ(run({"--target", "0.2"}), 2);
  EXPECT_THAT(err_, HasSubstr("METRIC=VALUE"));
  EXPECT_EQ(run({"--target", "val/eror=0.2"}), 2);
  EXPECT_THAT(err_, HasSubstr("there is no metric val/eror"));
  EXPECT_EQ(run({"--preset", "fast"}), 2);
  EXPECT_THAT(err_, HasSubstr("emulate.preset"));
  EXPECT_EQ(run({"--slowdown", "2,x"}), 2);
  EXPECT_THAT(err_, HasSubstr("--slowdown takes a number"));
  EXPECT_EQ(run({"--trial", "3"}), 2);
  EXPECT_THAT(err_, HasSubstr("there are 2 trials"));
  EXPECT_EQ(run({"other.yaml"}), 2);
  EXPECT_THAT(err_, HasSubstr("one file at a time"));
}

TEST(Options, HelpNamesEveryOptionAndItsDefault) {
  const std::string help = parse({"--help"}).print;
  for (const char* word :
       {"--ranks", "--preset", "--slowdown", "--jitter", "--gflops", "--sample-us", "--latency-us",
        "--gb-per-s", "--target", "--trial", "--out", "--points", "--json", "default 100"})
    EXPECT_THAT(help, HasSubstr(word));
  EXPECT_THROW(parse({}), UsageError);
  EXPECT_EQ(parse({"--slowdown=4,4,2.5", "a.yaml"}).slowdown, (std::vector<double>{4, 4, 2.5}));
}

}  // namespace
}  // namespace thalweg::engine::simulate
