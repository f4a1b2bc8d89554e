// What an attempt tells about its machines and ranks.
#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>
#include <tuple>

#include "engine/train/energy.h"
#include "engine/train/node_facts.h"
#include "engine/train/rank_times.h"
#include "jobspec/trial.h"
#include "tests/engine/comm/threads.h"
#include "tests/engine/train/support.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

namespace fs = std::filesystem;
using jobspec::Map;
using jobspec::Value;

/// A powercap tree as the kernel shows it, whose numbers a test changes.
class EnergyTest : public testing::Test {
 protected:
  void zone(const std::string& name, const std::string& what, std::uint64_t microjoules,
            std::uint64_t range = 1'000'000) {
    const fs::path folder = root_.path() / name;
    fs::create_directories(folder);
    std::ofstream(folder / "name") << what << '\n';
    std::ofstream(folder / "max_energy_range_uj") << range << '\n';
    std::ofstream(folder / "energy_uj") << microjoules << '\n';
  }
  thalweg::test::TempDir root_;
};

TEST_F(EnergyTest, AddsUpPackagesAndMemoryAndNothingTwice) {
  zone("intel-rapl:0", "package-0", 100'000);
  zone("intel-rapl:0:0", "core", 100'000);  // inside the package
  zone("intel-rapl:0:1", "dram", 100'000);
  zone("intel-rapl:1", "package-1", 999'000);
  zone("intel-rapl:2", "psys", 100'000);  // the packages are inside it
  CpuEnergy meter(root_.path());
  EXPECT_EQ(meter.joules(), 0);
  zone("intel-rapl:0", "package-0", 600'000);
  zone("intel-rapl:0:0", "core", 900'000);
  zone("intel-rapl:0:1", "dram", 300'000);
  zone("intel-rapl:1", "package-1", 1'000);  // it began again
  zone("intel-rapl:2", "psys", 900'000);
  EXPECT_NEAR(*meter.joules(), 0.5 + 0.2 + 0.002, 1e-9);
  zone("intel-rapl:0", "package-0", 700'000);
  EXPECT_NEAR(*meter.joules(), 0.8 + 0.002, 1e-9);
  // One that cannot be read any more: the rest would be a wrong sum.
  fs::remove(root_.path() / "intel-rapl:0:1" / "energy_uj");
  EXPECT_EQ(meter.joules(), std::nullopt);
}

TEST_F(EnergyTest, IsAbsentWhereTheMachineDoesNotTell) {
  EXPECT_EQ(CpuEnergy(root_.path() / "none").joules(), std::nullopt);
  zone("intel-rapl:0", "psys", 1);
  EXPECT_EQ(CpuEnergy(root_.path()).joules(), std::nullopt);
  EXPECT_EQ(NodeEnergy(root_.path() / "none").joules(), std::nullopt);
  EXPECT_EQ(gpu::GpuEnergy().joules(), std::nullopt);
  EXPECT_EQ(gpu::GpuEnergy("GPU-1", "libnone.so.1").joules(), std::nullopt);
}

TEST_F(EnergyTest, OfAWholeNodeCountsFromTheStart) {
  const fs::path file = root_.path() / "energy";
  std::ofstream(file) << "120500 J 1700000000 us\n";
  const NodeEnergy node(file);
  EXPECT_EQ(node.joules(), 0);
  std::ofstream(file) << "121750 J 1700000100 us\n";
  EXPECT_EQ(node.joules(), 1250);
  std::ofstream(file) << "10 J 1700000200 us\n";  // the node was started again
  EXPECT_EQ(node.joules(), std::nullopt);
}

/// Against a library with NVML's functions that knows one GPU.
TEST_F(EnergyTest, OfAGpuIsWhatNvmlCounts) {
  const fs::path counter = root_.path() / "millijoules";
  ASSERT_EQ(setenv("FAKE_NVML_COUNTER", counter.c_str(), 1), 0);
  std::ofstream(counter) << 4'000'500;
  const gpu::GpuEnergy energy("GPU-1", THALWEG_FAKE_NVML);
  EXPECT_EQ(energy.joules(), 0);
  std::ofstream(counter) << 4'123'000;
  EXPECT_NEAR(*energy.joules(), 122.5, 1e-9);
  std::ofstream(counter) << 5;  // the driver was loaded anew
  EXPECT_EQ(energy.joules(), std::nullopt);
  EXPECT_EQ(gpu::GpuEnergy("GPU-2", THALWEG_FAKE_NVML).joules(), std::nullopt);
  fs::remove(counter);  // NVML_ERROR_NOT_SUPPORTED
  EXPECT_EQ(gpu::GpuEnergy("GPU-1", THALWEG_FAKE_NVML).joules(), std::nullopt);
  EXPECT_EQ(gpu::GpuEnergy::told_elsewhere().joules(), 0);
}

/// Against a program that answers as sstat of a cluster with an energy plug-in.
TEST_F(EnergyTest, OfAJobStepIsWhatSstatSays) {
  const fs::path bin = root_.path() / "bin", said = root_.path() / "said";
  fs::create_directories(bin);
  thalweg::test::write_file(bin / "sstat", "#!/bin/sh\necho \"$*\" >>'" + said.string() +
                                               "'\ncat '" + (root_.path() / "answer").string() +
                                               "'\n");
  fs::permissions(bin / "sstat", fs::perms::owner_all);
  const std::string before = std::getenv("PATH");
  setenv("PATH", (bin.string() + ":" + before).c_str(), 1);
  const auto answer = [&](const std::string& text) {
    thalweg::test::write_file(root_.path() / "answer", text);
    return SlurmEnergy().joules();
  };
  EXPECT_EQ(SlurmEnergy().joules(), std::nullopt) << "in no step";
  EXPECT_FALSE(fs::exists(said));
  setenv("SLURM_JOB_ID", "4711", 1);
  setenv("SLURM_STEP_ID", "0", 1);
  EXPECT_EQ(answer("120500\n"), 120'500);
  EXPECT_THAT(thalweg::test::read_file(said),
              testing::HasSubstr("--jobs 4711.0 --format ConsumedEnergyRaw"));
  EXPECT_EQ(answer("0\n"), std::nullopt) << "no plug-in";
  EXPECT_EQ(answer("18446744073709551614\n"), std::nullopt) << "no value";
  EXPECT_EQ(answer(""), std::nullopt);
  SlurmEnergy twice;
  thalweg::test::write_file(root_.path() / "answer", "5\n");
  EXPECT_EQ(twice.joules(), 5);
  EXPECT_EQ(twice.joules(), std::nullopt) << "asked too soon";
  fs::remove(bin / "sstat");
  setenv("PATH", bin.c_str(), 1);
  EXPECT_EQ(SlurmEnergy().joules(), std::nullopt) << "no sstat";
  setenv("PATH", before.c_str(), 1);
  unsetenv("SLURM_JOB_ID");
  unsetenv("SLURM_STEP_ID");
}

/// Two of three ranks are on one machine.
void on_three_ranks(const std::function<void(comm::Group&)>& part) {
  comm::on_machines({0, 1, 1}, comm::GroupOptions{}, part);
}

TEST(RankTimes, EveryRankKnowsAllMeansAndTheNodesEnergy) {
  std::mutex mutex;
  std::vector<std::string> told;
  std::vector<std::tuple<double, double, double, double>> joules;
  int unknown = 0;
  on_three_ranks([&](comm::Group& group) {
    RankTimes times;
    for (int step = 0; step < 2; ++step) {
      StepOutcome outcome;
      outcome.compute_ms = 10 * (group.rank() + 1) + step;
      outcome.optimizer_ms = 1;
      if (step > 0) outcome.comm_before = CommTimes{5, 2, 3.0 - group.rank()};
      times.add(outcome);
      times.add_data(0.5);
    }
    // Ranks 1 and 2 share a machine: it counts once, but their GPUs do not.
    const int number = group.rank() + 1;
    const RankTimes::All all = times.gather(
        group, {100.0 * number, 1000.0 * number, 7.0 * number, number == 1 ? 11 : Energy::unknown});
    // Rank 1 speaks for its machine and does not know; rank 2 does not know of its GPU.
    const auto without = times.gather(
        group, {number == 2 ? Energy::unknown : 1, 1, number == 3 ? Energy::unknown : 1});
    const std::lock_guard lock(mutex);
    told.push_back(Value(all.record).to_json());
    joules.emplace_back(all.energy.cpu, all.energy.node, all.energy.gpu, all.energy.slurm);
    unknown +=
        std::isnan(without.energy.cpu) && std::isnan(without.energy.gpu) && without.energy.node == 2
            ? 1
            : 0;
  });
  EXPECT_THAT(
      told,
      testing::Each(
          R"({"steps":2,"data_ms":[0.5,0.5,0.5],"compute_ms":[10.5,20.5,30.5],)"
          R"("comm_exposed_ms":[2.0,2.0,2.0],"skew_ms":[3.0,2.0,1.0],"optimizer_ms":[1.0,1.0,1.0]})"));
  EXPECT_THAT(joules, testing::Each(std::tuple(300.0, 3000.0, 42.0, 11.0)));
  EXPECT_EQ(unknown, 3);
}

TEST(NodeFacts, KindsOfMachinesAreTold) {
  std::mutex mutex;
  std::vector<Value> told;
  on_three_ranks([&](comm::Group& group) {
    // As if the machine of ranks 1 and 2 had a GPU.
    Value kinds = node_kinds(group, group.rank() == 0 ? "" : "NVIDIA H100");
    const std::lock_guard lock(mutex);
    told.push_back(std::move(kinds));
  });
  ASSERT_EQ(told.size(), 3u);
  for (const Value& kinds : told) {
    ASSERT_EQ(kinds.as_list().size(), 2u) << kinds.to_json();
    const Value& first = kinds.as_list()[0];
    EXPECT_EQ(first.find("cores")->as_int(), std::thread::hardware_concurrency());
    EXPECT_GT(first.find("memory_gib")->as_int(), 0);
    EXPECT_EQ(first.find("gpu"), nullptr);
    EXPECT_EQ(first.find("nodes")->as_list().size(), 1u);
    EXPECT_EQ(kinds.as_list()[1].find("gpu")->as_string(), "NVIDIA H100");
    EXPECT_EQ(kinds.as_list()[1].find("nodes")->as_list().size(), 1u);
  }
}

TEST(NodeFacts, ProcessorsDifferWhereTheirNamesDo) {
  const auto kinds = [](const std::vector<const char*>& processors) {
    jobspec::List list;
    for (const char* processor : processors)
      list.emplace_back(jobspec::Map{{"processor", processor}, {"cores", std::int64_t{2}}});
    return Value(std::move(list));
  };
  EXPECT_FALSE(differ_in_processor(kinds({"EPYC"})));
  EXPECT_FALSE(differ_in_processor(kinds({"EPYC", "EPYC"}))) << "with and without a GPU";
  EXPECT_TRUE(differ_in_processor(kinds({"EPYC", "EPYC", "Xeon"})));
}

// Slow ranks and links change no bit, and no line is without the label.
TEST(Journal, EveryLineOfAnEmulatedAttemptSaysSo) {
  const thalweg::test::TempDir plain, slow;
  jobspec::Trial trial = tiny_trial();
  trial.train.set("epochs", 1);
  run_to_end(trial, plain.path(), 3);
  for (const Value& line : read_journal(plain.path()))
    EXPECT_EQ(line.find("emulated"), nullptr);
  trial.train.set("emulate", Map{{"preset", "compute"}, {"latency_us", jobspec::List{50}}});
  run_to_end(trial, slow.path(), 3);
  EXPECT_EQ(curve({slow.path()}), curve({plain.path()}));
  const auto journal = read_journal(slow.path());
  for (const Value& line : journal) {
    ASSERT_NE(line.find("emulated"), nullptr) << line.to_json();
    EXPECT_EQ(line.find("emulated")->as_string(), "compute");
  }
  EXPECT_EQ(lines_of(journal, "start").at(0).find("emulation")->as_string(),
            "compute (slowdown 4, 4, 2, 1; jitter 0.05; latency_us 50)");
}

TEST(Journal, TellsRanksMachinesAndCheckpoints) {
  const thalweg::test::TempDir folder;
  jobspec::Trial trial = tiny_trial();
  trial.train.set("checkpoint", Map{{"every", 10}});
  run_to_end(trial, folder.path(), 2);
  const auto journal = read_journal(folder.path());
  const Value start = lines_of(journal, "start").at(0);
  EXPECT_EQ(start.find("machines")->as_list().size(), 1u);
  EXPECT_NE(start.find("transport"), nullptr);
  EXPECT_NE(start.find("commit"), nullptr);
  const auto ranks = lines_of(journal, "ranks");
  ASSERT_FALSE(ranks.empty());
  const Value& last = ranks.back();
  EXPECT_EQ(last.find("step")->as_int(), 60);
  EXPECT_EQ(last.find("steps")->as_int(), 60);
  for (const char* part : {"data_ms", "compute_ms", "comm_exposed_ms", "skew_ms", "optimizer_ms"})
    EXPECT_EQ(last.find(part)->as_list().size(), 2u) << part;
  EXPECT_GT(last.find("compute_ms")->as_list()[1].as_double(), 0);
  const auto checkpoints = lines_of(journal, "checkpoint");
  std::vector<double> bytes, ms;
  for (const Value& line : lines_of(journal, "metrics"))
    for (const Value& point : line.find("points")->as_list()) {
      const std::string name = point.as_list()[0].as_string();
      if (name == "perf/checkpoint_bytes") bytes.push_back(point.as_list()[2].as_double());
      if (name == "perf/checkpoint_ms") ms.push_back(point.as_list()[2].as_double());
    }
  ASSERT_EQ(bytes.size(), checkpoints.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_EQ(bytes[i], checkpoints[i].find("bytes")->as_double());
    EXPECT_EQ(ms[i], 1000 * checkpoints[i].find("seconds")->as_double());
    EXPECT_GT(checkpoints[i].find("write_seconds")->as_double(), 0);
  }
}

}  // namespace
}  // namespace thalweg::engine
