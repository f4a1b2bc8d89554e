// Whole sweeps on a real Slurm cluster of network namespaces (tests/cluster).
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <set>
#include <utility>

#include "tests/end_to_end/crashes.h"
#include "tests/end_to_end/shared_cluster.h"
#include "tests/end_to_end/sweep_home.h"

namespace thalweg::test {
namespace {

namespace fs = std::filesystem;

class SlurmSweep : public OnSharedCluster {
 protected:
  static std::map<std::string, std::string> env() { return cluster().env(); }
  static std::set<std::string> job_names(const SweepHome& home) {
    const auto names = cluster().job_names("all", home.folder());
    return {names.begin(), names.end()};
  }
  static TinySweep two_nodes() {
    TinySweep sweep;
    sweep.nodes = 2;
    sweep.ranks_per_node = 1;
    return sweep;
  }
};

/// A sweep of one trial of a shell script, on two nodes with two ranks each.
std::string script(const std::string& launch, const std::string& line) {
  return "command: [bash, -c, '" + line + "']\nlaunch: " + launch +
         "\nmetric: {name: loss}\nmetric_pattern: \"loss=(?<loss>[0-9.]+)\"\n"
         "resources: {nodes: 2, ranks_per_node: 2, time: \"00:05:00\"}\n";
}

int count_of(const std::string& word, const std::string& text) {
  int count = 0;
  for (std::size_t at = 0; (at = text.find(word, at)) != text.npos; ++at)
    ++count;
  return count;
}

TEST_F(SlurmSweep, ProgramsOfUsersMeetAndAreRecorded) {
  SweepHome home(env());
  const std::string source =
      std::string(THALWEG_SOURCE_DIR) + "/tests/end_to_end/data/own/train.py";
  const std::string id = home.submit("program: " + source +
                                         "\nmethod: grid\nmetric: {name: val/loss}\n"
                                         "config: {steps: 60}\n"
                                         "parameters: {lr: {values: [0.1, 0.2]}}\n"
                                         "resources: {nodes: 2, ranks_per_node: 2}\n",
                                     "slurm");
  ASSERT_TRUE(home.wait_for_end(id, milliseconds(240000)));
  home.expect_nothing_lost_or_doubled(id);
  EXPECT_GE(home.curves(id).size(), 120u);
  const auto nodes = home.query("SELECT DISTINCT node_list FROM attempts");
  EXPECT_NE(nodes["rows"].dump().find("n"), std::string::npos);
  // Slurm's times are whole seconds.
  const auto odd = home.query(
      "SELECT id, launched, eligible, started FROM attempts WHERE eligible IS NULL OR"
      " eligible < launched - 1 OR eligible > started");
  EXPECT_TRUE(odd["rows"].empty()) << odd["rows"].dump();
}

/// As own_program_test has them on one machine. All of them at once, each trial killed once.
TEST_F(SlurmSweep, SweepFilesForWandbRunUnchanged) {
  SweepHome home(env());
  fs::copy(std::string(THALWEG_SOURCE_DIR) + "/tests/end_to_end/data/wandb", home.folder() / "w");
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(home.folder() / "w"))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().filename());
  std::sort(files.begin(), files.end());
  ASSERT_GE(files.size(), 10u);
  for (const std::string& file : files) {
    const Outcome outcome =
        home.thalweg({"submit", "w/" + file, "--backend", "slurm"}, milliseconds(60000),
                     {{"THALWEG_WANDB", "shim"}, {"DIE_ONCE", "1"}});
    ASSERT_EQ(outcome.code, 0) << file << outcome.out << outcome.err;
  }
  for (std::size_t sweep = 1; sweep <= files.size(); ++sweep) {
    const std::string id = std::to_string(sweep);
    ASSERT_TRUE(home.wait_for_end(id, milliseconds(400000))) << files[sweep - 1];
    home.expect_nothing_lost_or_doubled(id);
    const auto trials = home.query(
        "SELECT count(*), sum(state = 'finished'), max(attempts) FROM trials WHERE sweep = " + id);
    EXPECT_GT(trials["rows"][0][0], 0) << files[sweep - 1];
    EXPECT_EQ(trials["rows"][0][0], trials["rows"][0][1]) << files[sweep - 1];
    EXPECT_EQ(trials["rows"][0][2], 2) << files[sweep - 1];
  }
}

TEST_F(SlurmSweep, ProgramsOfUsersAreStartedAsOftenAsTheyAsk) {
  SweepHome home(env());
  const std::string say = "echo here=$RANK/$WORLD_SIZE.$LOCAL_RANK.$GROUP_RANK; echo loss=1; ";
  const std::string each = home.submit(script("per_rank", say), "slurm");
  const std::string node =
      home.submit(script("per_node", say + "echo gloo=$GLOO_SOCKET_IFNAME"), "slurm");
  const std::string once = home.submit(
      script("once", say + "srun hostname; srun -n 1 true; echo places=$SLURM_TASKS_PER_NODE"),
      "slurm");
  for (const std::string& id : {each, node, once})
    ASSERT_TRUE(home.wait_for_end(id, milliseconds(240000))) << id;
  const auto out = [&](const std::string& id) {
    EXPECT_EQ(home.json({"show", id + ".1"})["state"], "finished")
        << read_file(home.attempt_folder(id + ".1.1") / "stderr.log");
    return read_file(home.attempt_folder(id + ".1.1") / "stdout.log");
  };
  const std::string of_each = out(each), of_node = out(node), of_once = out(once);
  for (const char* word : {"here=0/4.0.0", "here=1/4.1.0", "here=2/4.0.1", "here=3/4.1.1"})
    EXPECT_EQ(count_of(word, of_each), 1) << word << of_each;
  for (const char* word : {"here=0/2.0.0", "here=1/2.0.1"})
    EXPECT_EQ(count_of(word, of_node), 1) << word << of_node;
  EXPECT_EQ(count_of("gloo=eth0\n", of_node), 2) << "no name is known here: " << of_node;
  EXPECT_EQ(count_of("here=", of_once), 1) << of_once;
  EXPECT_EQ(count_of("here=0/1.0.0", of_once), 1) << of_once;
  EXPECT_EQ(count_of("places=2(x2)\n", of_once), 1) << of_once;
  EXPECT_EQ(count_of("\n", of_once), 3 + 4) << "its own srun has all ranks: " << of_once;
}

TEST_F(SlurmSweep, MpirunStartsTheRanksOfAllNodes) {
  SweepHome home(env());
  const std::string source = std::string(THALWEG_SOURCE_DIR) + "/jobspec/examples/programs/ring.c";
  const Outcome compiled = run({"mpicc", "-o", (home.folder() / "ring").string(), source});
  if (compiled.code != 0) GTEST_SKIP() << "mpicc cannot compile: " << compiled.err;
  const std::string id = home.submit(
      "command: [mpirun, -n, \"${ranks}\", ./ring, rounds=3]\nlaunch: once\n"
      "metric: {name: us}\nmetric_pattern: \"FOM (?<us>[0-9.e+-]+)\"\n"
      "env: {OMPI_ALLOW_RUN_AS_ROOT: \"1\", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: \"1\"}\n"
      "limits: {max_retries: 0}\n"
      "resources: {nodes: 2, ranks_per_node: 2, time: \"00:05:00\"}\n",
      "slurm");
  ASSERT_TRUE(home.wait_for_end(id, milliseconds(120000)));
  EXPECT_EQ(home.json({"show", id + ".1"})["state"], "finished")
      << read_file(home.attempt_folder(id + ".1.1") / "stderr.log");
  EXPECT_EQ(count_of("ranks 4\n", read_file(home.attempt_folder(id + ".1.1") / "stdout.log")), 1);
}

/// It fails at once, so it is always the first to be free.
TEST_F(SlurmSweep, ABrokenNodeIsLeftOut) {
  SweepHome home(env());
  const std::string id = home.submit(
      "command: [bash, -c, '[ $SLURMD_NODENAME != n2 ] || exit 1; sleep 3; echo loss=1']\n"
      "metric: {name: loss}\nmetric_pattern: \"loss=(?<loss>[0-9.]+)\"\nseeds: 40\n"
      "limits: {max_retries: 5, max_nodes_in_flight: 8}\nresources: {nodes: 1, time: "
      "\"00:05:00\"}\n",
      "slurm");
  ASSERT_TRUE(home.wait_for_end(id, milliseconds(400000)));
  const auto trials = home.query("SELECT count(*), sum(state = 'finished') FROM trials")["rows"][0];
  EXPECT_EQ(trials[0], 40);
  EXPECT_EQ(trials[1], 40);
  const auto attempts = home.query(
      "SELECT sum(state = 'failed'), sum(size_reason LIKE 'n2 is left out%'),"
      " sum(size_reason LIKE 'n2 is left out%' AND node_list = 'n2') FROM attempts")["rows"][0];
  EXPECT_LT(attempts[0], 20) << attempts;
  EXPECT_GT(attempts[1], 5) << attempts;
  EXPECT_EQ(attempts[2], 0) << attempts;
}

TEST_F(SlurmSweep, ProgramsOfUsersAreCancelledWithACheckpoint) {
  SweepHome home(env());
  const std::string source =
      std::string(THALWEG_SOURCE_DIR) + "/tests/end_to_end/data/own/train.py";
  const std::string id = home.submit("program: " + source +
                                         "\nmetric: {name: val/loss}\n"
                                         "config: {steps: 100000, pause: 0.02, lr: 0.001}\n"
                                         "resources: {nodes: 2, ranks_per_node: 1}\n",
                                     "slurm");
  ASSERT_TRUE(eventually([&] { return home.has_checkpoint(id); }, milliseconds(120000)));
  EXPECT_EQ(home.thalweg({"cancel", id}).code, 0);
  ASSERT_TRUE(home.wait_for_end(id, milliseconds(120000)));
  home.expect_record_is_the_journals(id);
  EXPECT_NE(
      read_file(home.attempt_folder(id + ".1.1") / "journal.jsonl").find("\"status\":\"stopped\""),
      std::string::npos);
}

TEST_F(SlurmSweep, EqualsTheLocalRunBitForBit) {
  SweepHome home(env());
  TinySweep sweep = two_nodes();
  sweep.seeds = 2;
  const std::string slurm = home.submit(sweep.text(), "slurm");
  const std::string local = home.submit(sweep.text(), "local");
  ASSERT_TRUE(home.wait_for_end(slurm, milliseconds(240000)));
  ASSERT_TRUE(home.wait_for_end(local));
  home.expect_nothing_lost_or_doubled(slurm);
  const Curves curves = home.curves(slurm);
  EXPECT_GT(curves.size(), 40u);
  EXPECT_EQ(curves, home.curves(local));
  const auto names = job_names(home);
  for (const char* name : {"thalweg-1.1.1", "thalweg-1.2.1", "thalweg-1.3.1", "thalweg-1.4.1"})
    EXPECT_TRUE(names.count(name)) << name;
  const auto nodes =
      home.query("SELECT DISTINCT nodes, node_list FROM attempts WHERE sweep = " + slurm);
  for (const auto& row : nodes["rows"])
    EXPECT_EQ(row[0], 2) << row.dump();
}

/// The engine's question (engine/train/energy.h), asked inside of a step: this cluster has no
/// energy plug-in, which is said as 0, and the record has no such metric.
TEST_F(SlurmSweep, SstatTellsAStepsEnergyAndZeroIsNotRecorded) {
  SweepHome home(env());
  const std::string id = home.submit(
      script(
          "per_rank",
          "echo loss=$(sstat --noheader --parsable2 --jobs $SLURM_JOB_ID.$SLURM_STEP_ID --format "
          "ConsumedEnergyRaw)"),
      "slurm");
  ASSERT_TRUE(home.wait_for_end(id, milliseconds(240000)));
  const auto said = home.query("SELECT max(value) FROM metrics WHERE metric = 'loss'");
  EXPECT_EQ(said["rows"][0][0], 0.0) << said.dump();
  const std::string own = home.submit(two_nodes().text(), "slurm");
  ASSERT_TRUE(home.wait_for_end(own, milliseconds(240000)));
  const auto recorded =
      home.query("SELECT count(*) FROM metrics WHERE metric = 'perf/slurm_energy_j'");
  EXPECT_EQ(recorded["rows"][0][0], 0);
}

TEST_F(SlurmSweep, KilledRankIsNamedWithItsNodeAndTheTrialGoesOn) {
  SweepHome home(env());
  TinySweep sweep = two_nodes();
  sweep.steps = 3000;
  const std::string whole = home.submit(sweep.text(), "local");
  const std::string broken = home.submit(sweep.text(), "slurm");
  ASSERT_TRUE(eventually([&] { return home.has_checkpoint(broken); }, milliseconds(120000)));
  const std::vector<pid_t> ranks = home.engines(broken);
  ASSERT_FALSE(ranks.empty());
  const pid_t victim = ranks.back();
  ASSERT_EQ(kill(victim, SIGKILL), 0);
  ASSERT_TRUE(home.wait_for_end(broken, milliseconds(240000)));
  ASSERT_TRUE(home.wait_for_end(whole));
  home.expect_nothing_lost_or_doubled(broken);
  const auto failed =
      home.query("SELECT failed_rank, failed_node, reason FROM attempts WHERE sweep = " + broken +
                 " AND state = 'failed'");
  ASSERT_EQ(failed["rows"].size(), 1u) << failed.dump(2);
  EXPECT_TRUE(failed["rows"][0][0].is_number()) << failed.dump(2);
  EXPECT_FALSE(failed["rows"][0][1].get<std::string>().empty()) << failed.dump(2);
  EXPECT_EQ(home.curves(broken), home.curves(whole));
}

TEST_F(SlurmSweep, CancelRemovesTheJobs) {
  SweepHome home(env());
  TinySweep sweep = two_nodes();
  sweep.steps = 200000;
  const std::string id = home.submit(sweep.text(), "slurm");
  ASSERT_TRUE(eventually([&] { return !home.engines().empty(); }, milliseconds(60000)));
  EXPECT_EQ(home.thalweg({"cancel", id}).code, 0);
  EXPECT_TRUE(home.wait_for_end(id));
  EXPECT_EQ(home.json({"show", id})["state"], "cancelled");
  EXPECT_TRUE(eventually([&] { return home.engines().empty(); }, milliseconds(60000)));
}

TEST_F(SlurmSweep, ControllerAndSlurmctldKilledLoseAndDoubleNothing) {
  SweepHome home(env());
  TinySweep sweep = two_nodes();
  sweep.seeds = 12;
  sweep.extra = "limits: {max_nodes_in_flight: 4}\n";  // else all start at once
  const auto restart_slurm = [](std::size_t death) {
    if (death % 7 != 3) return;
    const Outcome restarted = cluster().command({"restart-controller"}, milliseconds(90000));
    ASSERT_EQ(restarted.code, 0) << restarted.out << restarted.err;
  };
  crash_through(home, sweep, "slurm", restart_slurm, [] { cluster().resume_drained(); });
  const auto names = cluster().job_names("completed,running,failed", home.folder());
  const std::multiset<std::string> ran(names.begin(), names.end());
  EXPECT_FALSE(ran.empty());
  for (const std::string& name : ran)
    EXPECT_EQ(ran.count(name), 1u) << name << " ran twice";
}

}  // namespace
}  // namespace thalweg::test
