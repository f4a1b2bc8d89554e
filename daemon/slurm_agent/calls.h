// The questions to Slurm, one function each, over plain structures. All block (up to about ten
// seconds when the controller is slow), all are thread-safe, and all need libslurm to be in use
// (library.h).
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "daemon/slurm_agent/checks.h"
#include "daemon/slurm_agent/errors.h"
#include "daemon/slurm_agent/messages.h"
#include "daemon/slurm_agent/options.h"

namespace thalweg::slurm_agent {

/// Comments of our jobs start with this; the attempt's token follows, and from its release on the
/// mark. The mark is set by the same request that lets the job run: where Slurm holds a job that
/// has it, a person did that; where it has not, Slurm's controller forgot the release.
inline constexpr const char* comment_prefix = "thalweg:";
inline constexpr const char* released_mark = " released";
/// Names of our jobs start with this: they are shown even where somebody changed the comment.
inline constexpr const char* name_prefix = "thalweg-";

struct Site {
  std::string version, cluster;
  std::int64_t min_job_age_s = 0, kill_wait_s = 0;
  int controllers = 1;
  std::uint32_t slurm_user = 0;  ///< may do as root does, so nobody's jobs run under it
};

/// Whose jobs may be ours: this process's user's, or those of all users from a number on.
struct Whose {
  std::optional<std::uint32_t> min_uid;
  bool holds(std::uint32_t uid) const;
};

/// True when one of the controllers answers. 0.2 ms where nothing listens.
bool controller_answers(int controllers);
Result<Site> load_site();
Result<std::vector<Partition>> load_partitions();
Result<Nodes::Answer> count_nodes();

/// Submits held, never to be requeued, killed with its nodes. A job that Slurm takes but says it
/// will never run is taken back and refused with the reason.
Result<Submit::Answer> submit_held(const Submit& request);

/// Nothing is submitted. Failure `refused` where it could never run, `retry_later` where Slurm
/// cannot say.
Result<WillRun::Answer> will_run(const JobRequest& request);

/// Failure `missing` where there is no such job or it is another one.
Result<JobFacts> load_job(const JobQuestion& asked, const Whose& whose = {});
/// True; Failure `finished` where it has ended already.
Result<bool> release(std::uint32_t job, const std::string& token);
/// SIGKILL ends the job whatever its state; any other signal goes to the ranks of a running job
/// only: srun would answer SIGTERM by killing them at once.
Result<bool> signal_job(std::uint32_t job, int signal);

/// Jobs of these users with our comment or a name of ours. `known` is the time of the previous
/// answer; nothing changed since: no value.
struct Listing {
  std::time_t time = 0;
  std::vector<JobFacts> jobs;
};
Result<std::optional<Listing>> list_jobs(std::time_t known, const Whose& whose = {});

}  // namespace thalweg::slurm_agent
