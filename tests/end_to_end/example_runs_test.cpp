// The examples that need nothing but what stands beside them, run as a person would run them, to
// their end.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "tests/end_to_end/examples.h"

namespace thalweg::test {
namespace {

namespace fs = std::filesystem;

struct Example {
  const char* name;
  std::size_t trials;
};

void PrintTo(const Example& example, std::ostream* out) {
  *out << example.name;
}

class ExampleRun : public testing::TestWithParam<Example> {};

TEST_P(ExampleRun, Finishes) {
  std::map<std::string, std::string> environment;
  // The one for GPUs needs one; the emulated one computes the same, and nobody counts it.
  const bool gpu = std::string(GetParam().name) == "gpu";
  if (gpu) environment["THALWEG_GPU"] = "emulated";
  SweepHome home(std::move(environment));
  std::filesystem::create_directories(home.home());
  if (gpu) write_file(home.home() / "config.yaml", "local: {gpus: 1}\n");
  copy_examples(home);
  const Outcome outcome = home.thalweg(
      {"run", std::string(GetParam().name) + ".yaml", "--backend", "local"}, milliseconds(120000));
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  const auto trials = home.query("SELECT state FROM trials");
  EXPECT_EQ(trials["rows"].size(), GetParam().trials) << trials.dump();
  const auto comparison = home.json({"compare", "1"});
  ASSERT_FALSE(comparison["rows"].empty());
  EXPECT_GE(comparison["rows"][0]["n"].get<int>(), 1)
      << "the metric of the file is reported: " << comparison.dump(2);
}

std::string name_of(const testing::TestParamInfo<Example>& tested) {
  return test_name_of(tested.param.name);
}

INSTANTIATE_TEST_SUITE_P(All, ExampleRun,
                         testing::Values(Example{"own-data", 8}, Example{"regression", 4},
                                         Example{"graph", 4}, Example{"gpt", 4},
                                         Example{"segmentation", 2}, Example{"flood-filling", 2},
                                         Example{"gpu", 2}, Example{"study", 39},
                                         Example{"seeds-auto", 28}, Example{"packed", 32}),
                         name_of);

/// Whether Python, as the sweeps find it, has the module.
bool python_has(const std::string& module) {
  return run({"python3", "-c", "import " + module}).code == 0;
}

TEST(Examples, OwnProgramFinishesAtItsTarget) {
  SweepHome home;
  copy_examples(home);
  const Outcome outcome = home.thalweg({"run", "own-program.yaml", "--backend", "local"});
  ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  home.expect_nothing_lost_or_doubled("1");
  const auto comparison = home.json({"compare", "1"});
  ASSERT_EQ(comparison["rows"].size(), 3u);
  for (const auto& row : comparison["rows"])
    EXPECT_EQ(row["steps_to_target"]["reached"], 2) << row.dump();
  EXPECT_EQ(comparison["rows"][0]["group"]["lr"], 1.0);
}

TEST(Examples, PyTorchTrainsInParallel) {
  if (!python_has("torch")) GTEST_SKIP() << "python3 has no torch";
  SweepHome home;
  copy_examples(home);
  const Outcome outcome =
      home.thalweg({"run", "pytorch-ddp.yaml", "--backend", "local"}, milliseconds(120000));
  ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  home.expect_nothing_lost_or_doubled("1");
  EXPECT_EQ(home.json({"compare", "1"})["rows"].size(), 4u);
}

TEST(Examples, TorchrunStartsTheRanks) {
  SweepHome home;
  // Debian 12's own, PyTorch 1.13 with Python 3.11, starts nothing.
  write_file(home.folder() / "nothing.py", "");
  const Outcome tried =
      run({"torchrun", "--nproc_per_node", "1", (home.folder() / "nothing.py").string()});
  if (tried.code == 127) GTEST_SKIP() << "there is no torchrun";
  if (tried.code != 0) GTEST_SKIP() << "this torchrun cannot start an empty program";
  copy_examples(home);
  const Outcome outcome =
      home.thalweg({"run", "torchrun.yaml", "--backend", "local"}, milliseconds(240000));
  ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  home.expect_nothing_lost_or_doubled("1");
  EXPECT_EQ(home.json({"compare", "1"})["rows"].size(), 2u);
}

TEST(Examples, AVirtualEnvironmentIsActivated) {
  SweepHome home;
  copy_examples(home);
  RunOptions options;
  options.directory = home.folder();
  const Outcome made = run({"python3", "-m", "venv", "--without-pip", "env"}, options);
  if (made.code != 0) GTEST_SKIP() << "python3 has no module venv";
  const std::string told = "\nimport sys\nprint(\"prefix\", sys.prefix)\n";
  write_file(home.folder() / "programs/fit.py",
             read_file(home.folder() / "programs/fit.py") + told);
  const Outcome outcome = home.thalweg({"run", "virtual-environment.yaml", "--backend", "local"});
  ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  home.expect_nothing_lost_or_doubled("1");
  EXPECT_NE(read_file(home.attempt_folder("1.1.1") / "stdout.log")
                .find("prefix " + (home.folder() / "env").string()),
            std::string::npos);
  // A folder that is not there: said before anything is queued, or by the attempt that could not
  // start; it is not tried again.
  fs::remove_all(home.folder() / "env");
  const Outcome without = home.thalweg({"run", "virtual-environment.yaml", "--backend", "local"});
  EXPECT_NE(without.code, 0);
  EXPECT_NE((without.out + without.err).find("env/bin/activate"), std::string::npos)
      << without.out << without.err;
}

TEST(Examples, MpiProgramTellsItsFigureOfMerit) {
  SweepHome home;
  copy_examples(home);
  RunOptions options;
  options.directory = home.folder() / "programs";
  const Outcome compiled = run({"mpicc", "-O2", "-o", "ring", "ring.c"}, options);
  if (compiled.code == 127) GTEST_SKIP() << "there is no mpicc";
  if (compiled.err.find("fatal error: mpi.h") != std::string::npos)
    GTEST_SKIP() << "mpicc has no mpi.h (Debian: libopenmpi-dev)";
  ASSERT_EQ(compiled.code, 0) << compiled.err;
  const std::string text = read_file(home.folder() / "mpi.yaml") +
                           "env: {OMPI_ALLOW_RUN_AS_ROOT: \"1\", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: "
                           "\"1\", OMPI_MCA_rmaps_base_oversubscribe: \"1\"}\n";
  write_file(home.folder() / "mpi.yaml", text);
  const Outcome outcome = home.thalweg({"run", "mpi.yaml", "--backend", "local"});
  ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_EQ(home.query("SELECT * FROM latest_metrics WHERE metric = 'microseconds'")["rows"].size(),
            2u);
  EXPECT_NE(read_file(home.attempt_folder("1.1.1") / "stdout.log").find("ranks 2"),
            std::string::npos);
}

}  // namespace
}  // namespace thalweg::test
