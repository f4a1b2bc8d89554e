#include "daemon/backend/slurm_script.h"

#include <gmock/gmock.h>

#include "tests/support/process.h"

namespace thalweg::daemon {
namespace {

using testing::ElementsAre;

const std::filesystem::path golden =
    std::filesystem::path(THALWEG_SOURCE_DIR) / "tests/daemon/slurm/golden";

jobspec::Resources resources(int nodes, int ranks, int threads) {
  jobspec::Resources r;
  r.nodes = nodes;
  r.ranks_per_node = ranks;
  r.threads_per_rank = threads;
  return r;
}

BatchScript plain() {
  BatchScript job;
  job.request.id = {12, 3, 1};
  job.request.token = "secret";
  job.request.folder = "/home/ada/.local/state/thalweg/runs/12/3/1";
  job.request.resources = resources(4, 2, 8);
  job.program = "/usr/bin/thalweg-train";
  return job;
}

TEST(SlurmScript, PlainIsTheGoldenFile) {
  EXPECT_EQ(batch_script(plain()), test::read_file(golden / "plain.sh"));
}

TEST(SlurmScript, WithEverythingIsTheGoldenFile) {
  BatchScript job = plain();
  job.request.folder = "/data/it's 50% \"here\"/1";
  job.request.resources.memory_mib = 4096;
  job.request.resources.gpus_per_node = 2;
  job.request.slurm.options = {{"partition", "main"}, {"exclusive", ""}, {"mail-type", "END"}};
  job.request.slurm.setup = {"module load ucx/1.13", "export OMP_PLACES=cores"};
  job.request.slurm.srun = {"--cpu-bind=cores"};
  job.request.slurm.mpi = "pmix_v4";
  job.srun = "/opt/slurm/bin/srun";
  EXPECT_EQ(batch_script(job), test::read_file(golden / "setup.sh"));
}

TEST(SlurmScript, AStepOfASharedJobTakesItsOwnCoresAlone) {
  BatchScript job = plain();
  job.request.resources = resources(1, 2, 8);
  job.request.resources.memory_mib = 100;
  job.request.resources.gpus_per_node = 1;
  job.request.slurm.srun = {"--cpu-bind=cores"};
  job.request.slurm.options = {{"partition", "main"}};
  job.request.shared = Shared{4, "/usr/libexec/thalweg/thalweg-pack"};
  EXPECT_THAT(
      shared_step(job),
      ElementsAre("srun", "--mpi=pmix", "--exact", "--kill-on-bad-exit=1", "--input=none",
                  "--job-name=thalweg-12.3.1", "--chdir=/home/ada/.local/state/thalweg/runs/12/3/1",
                  "--nodes=1", "--ntasks=2", "--ntasks-per-node=2", "--cpus-per-task=8",
                  "--distribution=block", "--mem-per-cpu=7M", "--gpus-per-node=1",
                  "--cpu-bind=cores", "/usr/libexec/thalweg/thalweg-pack", "--start", "{started}",
                  "--", "/usr/bin/thalweg-train",
                  "/home/ada/.local/state/thalweg/runs/12/3/1/trial.yaml"));
  job.request.resources.memory_mib = 0;
  job.request.launch = jobspec::LaunchMode::once;
  const auto once = shared_step(job);
  for (const char* word : {"--mpi=none", "--ntasks=1", "--cpus-per-task=16", "--mem=0", "--exact"})
    EXPECT_THAT(once, testing::Contains(word));
}

TEST(SlurmScript, ARangeOfNodesIsReadInTheJob) {
  BatchScript job = plain();
  job.request.resources.min_nodes = 2;
  const std::string script = batch_script(job);
  EXPECT_THAT(script, testing::HasSubstr("#SBATCH --nodes=2-4\n"));
  EXPECT_THAT(script, testing::Not(testing::HasSubstr("#SBATCH --ntasks=")));
  EXPECT_THAT(script, testing::Not(testing::HasSubstr("#SBATCH --ntasks-per-node=")));
  EXPECT_THAT(script, testing::HasSubstr("#SBATCH --cpus-per-task=16\n"));
  EXPECT_THAT(script, testing::HasSubstr("  --nodes=\"$SLURM_JOB_NUM_NODES\" "
                                         "--ntasks=$((SLURM_JOB_NUM_NODES * 2)) "
                                         "--ntasks-per-node=2 "));
}

TEST(SlurmScript, ProgramsOfUsersAreStartedAsOftenAsTheyAsk) {
  BatchScript job = plain();
  job.request.launch = jobspec::LaunchMode::per_node;
  EXPECT_THAT(batch_script(job),
              testing::HasSubstr("--mpi=pmix --kill-on-bad-exit=1 --input=none \\\n  --nodes=4 "
                                 "--ntasks=4 --ntasks-per-node=1 --cpus-per-task=16 "));
  job.request.launch = jobspec::LaunchMode::once;
  EXPECT_THAT(
      batch_script(job),
      testing::HasSubstr("--mpi=none --overlap --kill-on-bad-exit=1 --input=none \\\n  --nodes=1 "
                         "--ntasks=1 --ntasks-per-node=1 --cpus-per-task=16 "));
  EXPECT_THAT(batch_script(job), testing::HasSubstr("#SBATCH --ntasks=8\n"))
      << "the job has them all";
}

TEST(SlurmScript, FailingSetupLineEndsTheJobBeforeTheRanks) {
  struct Row {
    std::vector<std::string> setup;
    std::string stderr_tail;
  };
  const std::string module = "module() { test \"$1\" != load; }";
  for (const Row& row :
       {Row{{"echo first", "false", "echo second"}, "(exit code 1): false"},
        Row{{"echo first", "modul load ucx"}, "(exit code 127): modul load ucx"},
        Row{{module, "echo first", "module load ucx"}, "(exit code 1): module load ucx"},
        Row{{"echo first", "exit 7"}, "(exit code 7): exit 7"}}) {
    test::TempDir folder;
    BatchScript job = plain();
    job.request.folder = folder.path();
    job.request.slurm.setup = row.setup;
    job.srun = "/bin/echo";
    test::write_file(folder.path() / "job.sh", batch_script(job));
    const auto outcome = test::run({"bash", (folder.path() / "job.sh").string()});
    EXPECT_EQ(outcome.code, 2) << row.stderr_tail;  // bad input: not tried again
    EXPECT_EQ(outcome.out, "first\n");
    EXPECT_THAT(outcome.err, testing::EndsWith("slurm.setup failed " + row.stderr_tail + "\n"));
  }
}

/// What is started instead of srun gets the signal, once, when the time has come.
TEST(SlurmScript, WarnsShortJobsItself) {
  for (const bool sets_up : {false, true}) {
    test::TempDir folder;
    BatchScript job = plain();
    job.request.folder = folder.path();
    job.request.resources.time_limit_s = 60;
    job.request.slurm.signal_before_end_s = 58;  // cut to 30
    if (sets_up) job.request.slurm.setup = {"SECONDS=30"};
    job.srun = (folder.path() / "srun").string();
    test::write_file(job.srun,
                     "#!/bin/bash\ntrap 'echo told; exit 3' USR1\n"
                     "for _ in {1..600}; do sleep 0.1; done\n");
    std::filesystem::permissions(job.srun, std::filesystem::perms::owner_all);
    std::string script = batch_script(job);
    EXPECT_THAT(script, testing::Not(testing::HasSubstr("--signal")));
    const auto at = script.find("(sleep 30;");
    ASSERT_EQ(at == script.npos, sets_up) << script;
    if (sets_up)
      script.replace(script.find(": 5))"), 5, ": 1))");
    else
      script.replace(at, 9, "(sleep 1");
    test::write_file(folder.path() / "job.sh", script);
    const auto outcome = test::run({sets_up ? "bash" : "sh", (folder.path() / "job.sh").string()});
    EXPECT_EQ(outcome.code, 3) << outcome.err;
    EXPECT_EQ(outcome.out, "told\n");
  }
}

TEST(SlurmScript, SetupThatWorksLeavesNoTrace) {
  test::TempDir folder;
  BatchScript job = plain();
  job.request.folder = folder.path();
  job.request.slurm.setup = {"false || true", "if false; then exit 1; fi"};
  job.srun = "/bin/false";
  test::write_file(folder.path() / "job.sh", batch_script(job));
  const auto outcome = test::run({"bash", (folder.path() / "job.sh").string()});
  EXPECT_EQ(outcome.code, 1);  // srun's own
  EXPECT_EQ(outcome.err, "");
}

}  // namespace
}  // namespace thalweg::daemon
