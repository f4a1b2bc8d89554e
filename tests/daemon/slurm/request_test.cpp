// What is asked of Slurm, as one structure and as lines.
#include "daemon/backend/slurm_request.h"

#include <gmock/gmock.h>

namespace thalweg::daemon {
namespace {

using testing::ElementsAre;

LaunchRequest small() {
  LaunchRequest request;
  request.id = {1, 2, 3};
  request.token = "secret";
  request.folder = "/runs/50%/1";
  request.resources.time_limit_s = 150;
  return request;
}

TEST(SlurmRequest, TheLinesAreTheRequestInTheTablesOrder) {
  LaunchRequest request = small();
  request.slurm.options = {{"nice", "100"}, {"partition", "a,b"}, {"contiguous", ""}};
  EXPECT_THAT(sbatch_lines(slurm_request(request)),
              ElementsAre("#SBATCH --partition=a,b", "#SBATCH --contiguous", "#SBATCH --nice=100",
                          "#SBATCH --nodes=1", "#SBATCH --ntasks=1", "#SBATCH --ntasks-per-node=1",
                          "#SBATCH --cpus-per-task=1", "#SBATCH --time=3",
                          "#SBATCH --signal=USR1@60", "#SBATCH --job-name=thalweg-1.2.3",
                          "#SBATCH --chdir=/runs/50%/1", "#SBATCH --output=/runs/50%%/1/stdout.log",
                          "#SBATCH --error=/runs/50%%/1/stderr.log", "#SBATCH --open-mode=append",
                          "#SBATCH --no-requeue"));
}

TEST(SlurmRequest, EveryOptionHasALine) {
  const jobspec::SlurmRequest request = slurm_request(small());
  EXPECT_EQ(sbatch_lines(request).size(), request.size());
  for (const auto& [name, value] : request)
    EXPECT_NE(jobspec::find_slurm_option(name), nullptr) << name;
}

TEST(SlurmRequest, TheTokenIsNotInIt) {
  for (const auto& [name, value] : slurm_request(small()))
    EXPECT_EQ(value.find("secret"), std::string::npos) << name;
}

TEST(SlurmRequest, MinutesAreRoundedUp) {
  jobspec::Resources r;
  for (const auto& [limit_s, minutes] : {std::pair{1, 1}, {60, 1}, {61, 2}, {3600, 60}}) {
    r.time_limit_s = limit_s;
    EXPECT_EQ(time_limit_minutes(r), minutes) << limit_s;
  }
}

TEST(SlurmRequest, WarningNeverStopsAJobAtItsStart) {
  struct Row {
    std::int64_t limit_s, wanted_s, by_slurm_s, by_script_after_s;
  };
  // Slurm may warn up to 60 s early: limit - warning - 60 is the earliest time.
  for (const Row& row : {Row{3600, 60, 60, 0},
                         {3600, 0, 0, 0},
                         {3600, -5, 0, 0},
                         {60, 60, 0, 30},
                         {30, 60, 0, 30},
                         {60, 10, 0, 50},
                         {120, 60, 0, 60},
                         {120, 30, 30, 0},
                         {180, 60, 60, 0},
                         {600, 3600, 0, 300},
                         {1000000, 65535, 65535, 0},
                         {1000000, 100000, 0, 900020}}) {
    jobspec::Resources r;
    r.time_limit_s = row.limit_s;
    const TimeWarning warning = time_warning(r, row.wanted_s);
    EXPECT_EQ(warning.by_slurm_s, row.by_slurm_s) << row.limit_s << " " << row.wanted_s;
    EXPECT_EQ(warning.by_script_after_s, row.by_script_after_s)
        << row.limit_s << " " << row.wanted_s;
  }
}

TEST(SlurmRequest, EarliestWarning) {
  struct Row {
    std::int64_t limit_s, wanted_s, earliest_s;
  };
  for (const Row& row : {Row{3600, 60, 3480},
                         {3590, 60, 3480},
                         {180, 60, 60},
                         {120, 60, 60},
                         {60, 60, 30},
                         {3600, 0, 0}}) {
    jobspec::Resources r;
    r.time_limit_s = row.limit_s;
    EXPECT_EQ(earliest_warning_s(r, row.wanted_s), row.earliest_s)
        << row.limit_s << " " << row.wanted_s;
  }
}

}  // namespace
}  // namespace thalweg::daemon
