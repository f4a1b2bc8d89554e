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
  return {{12, 3, 1},
          "/home/ada/.local/state/thalweg/runs/12/3/1",
          resources(4, 2, 8),
          {},
          "srun",
          "/usr/bin/thalweg-train"};
}

TEST(SlurmScript, PlainIsTheGoldenFile) {
  EXPECT_EQ(batch_script(plain()), test::read_file(golden / "plain.sh"));
}

TEST(SlurmScript, WithSetupIsTheGoldenFile) {
  BatchScript job = plain();
  job.folder = "/data/it's 50% \"here\"/1";
  job.setup = {"module load ucx/1.13", "export OMP_PLACES=cores"};
  job.srun = "/opt/slurm/bin/srun";
  EXPECT_EQ(batch_script(job), test::read_file(golden / "setup.sh"));
}

TEST(SlurmScript, WordsSurviveTheShell) {
  for (const std::string text :
       {"", "plain", "it's", "a b\tc", "$HOME `id` \\ \" * ? ~", "'''", "-n", "line\nbreak"}) {
    const auto outcome = test::run({"sh", "-c", "printf %s " + shell_word(text)});
    EXPECT_EQ(outcome.out, text);
  }
}

TEST(SlurmScript, FailingSetupLineEndsTheJobBeforeTheRanks) {
  test::TempDir folder;
  BatchScript job = plain();
  job.folder = folder.path();
  job.setup = {"echo first", "false", "echo second"};
  job.srun = "/bin/echo";
  test::write_file(folder.path() / "job.sh", batch_script(job));
  const auto outcome = test::run({"bash", (folder.path() / "job.sh").string()});
  EXPECT_NE(outcome.code, 0);
  EXPECT_EQ(outcome.out, "first\n");
}

TEST(SlurmScript, MinutesAreRoundedUp) {
  jobspec::Resources r;
  for (const auto& [limit_s, minutes] : {std::pair{1, 1}, {60, 1}, {61, 2}, {3600, 60}}) {
    r.time_limit_s = limit_s;
    EXPECT_EQ(time_limit_minutes(r), minutes) << limit_s;
  }
}

TEST(SlurmScript, WarningNeverStopsAJobAtItsStart) {
  struct Row {
    std::int64_t limit_s, wanted_s;
    int warning_s;
  };
  // Slurm may warn up to 60 s early: limit - warning - 60 is the earliest time.
  for (const Row& row : {Row{3600, 60, 60},
                         {3600, 0, 0},
                         {3600, -5, 0},
                         {60, 60, 0},
                         {30, 60, 0},
                         {120, 60, 30},
                         {180, 60, 60},
                         {600, 3600, 270},
                         {1000000, 100000, 65535}}) {
    jobspec::Resources r;
    r.time_limit_s = row.limit_s;
    EXPECT_EQ(warning_seconds(r, row.wanted_s), row.warning_s)
        << row.limit_s << " " << row.wanted_s;
  }
}

TEST(SlurmScript, EarliestWarning) {
  struct Row {
    std::int64_t limit_s, wanted_s, earliest_s;
  };
  for (const Row& row :
       {Row{3600, 60, 3480}, {3590, 60, 3480}, {120, 60, 30}, {60, 60, 0}, {3600, 0, 0}}) {
    jobspec::Resources r;
    r.time_limit_s = row.limit_s;
    EXPECT_EQ(earliest_warning_s(r, row.wanted_s), row.earliest_s)
        << row.limit_s << " " << row.wanted_s;
  }
}

TEST(SlurmScript, EnvironmentLeavesThisMachineAndOtherJobsBehind) {
  EXPECT_THAT(
      job_environment({"PATH=/bin", "HOME=/home/ada", "SLURM_JOB_ID=5", "SLURM_CONF=/etc/s.conf",
                       "SLURM=x", "PMIX_RANK=0", "SSH_CLIENT=1", "TERM=xterm", "TERMINFO=/t",
                       "EMPTY=", "A=b=c", "=odd", "nothing", "BASH_FUNC_module%%=() { :; }",
                       "DISPLAY=:0", "PWD=/x", "MODULEPATH=/m"}),
      ElementsAre("PATH=/bin", "HOME=/home/ada", "SLURM_CONF=/etc/s.conf", "SLURM=x", "TERMINFO=/t",
                  "EMPTY=", "A=b=c", "BASH_FUNC_module%%=() { :; }", "MODULEPATH=/m"));
}

}  // namespace
}  // namespace thalweg::daemon
