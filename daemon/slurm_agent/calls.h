// The questions to Slurm, one function each, over plain structures. All block (up to about ten
// seconds when the controller is slow), all are thread-safe, and all need libslurm to be in use
// (library.h).
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "daemon/slurm_agent/checks.h"
#include "daemon/slurm_agent/errors.h"
#include "daemon/slurm_agent/options.h"

namespace thalweg::slurm_agent {

template <class T>
using Result = std::variant<T, Failure>;

/// Comments of our jobs start with this; the attempt's token follows, and from its release on the
/// mark. The mark is set by the same request that lets the job run: where Slurm holds a job that
/// has it, a person did that; where it has not, Slurm's controller forgot the release.
inline constexpr const char* comment_prefix = "thalweg:";
inline constexpr const char* released_mark = " released";
/// Names of our jobs start with this: they are shown even where somebody changed the comment.
inline constexpr const char* name_prefix = "thalweg-";

struct JobRequest {
  std::string token, script;
  Options options;                       ///< the whole request, as in the script's #SBATCH lines
  std::vector<std::string> environment;  ///< NAME=value
};

struct Submitted {
  std::uint32_t job = 0;
  std::string note;  ///< what Slurm or the site's submit plug-in said beside "yes"
};

/// A job as Slurm shows it. Times are Unix seconds, 0 = not yet; exits are wait statuses.
struct JobFacts {
  std::uint32_t job = 0;
  std::string token;  ///< empty: not one of ours, or its comment was changed
  std::string name, state, reason, nodes, folder;
  bool completing = false, held = false, released = false;
  std::int64_t submitted = 0, started = 0, ended = 0;
  std::uint32_t exit = 0, steps_exit = 0;
  bool operator==(const JobFacts&) const = default;
};

struct Site {
  std::string version, cluster;
  std::int64_t min_job_age_s = 0, kill_wait_s = 0;
  int controllers = 1;
};

struct NodeCount {
  int total = 0, usable = 0;  ///< usable: neither down, drained nor silent
};

/// True when one of the controllers answers. 0.2 ms where nothing listens.
bool controller_answers(int controllers);
Result<Site> load_site();
Result<std::vector<Partition>> load_partitions();
Result<NodeCount> count_nodes();

/// Submits held, never to be requeued, killed with its nodes. A job that Slurm takes but says it
/// will never run is taken back and refused with the reason.
Result<Submitted> submit_held(const JobRequest& request);

/// When and where Slurm would start such a job now; nothing is submitted.
struct Forecast {
  std::int64_t start = 0;  ///< Unix seconds
  std::string nodes, partition;
};
/// Failure `refused` where it could never run, `retry_later` where Slurm cannot say.
Result<Forecast> will_run(const JobRequest& request);

/// What proves that a job is the one that was submitted, beside its number, which Slurm may give
/// out again: the token in its comment, or, since comments can be changed, that it is this user's,
/// has a name of ours and works in the attempt's own folder.
struct Identity {
  std::string token, folder;
};
/// Failure `missing` where there is no such job or it is another one.
Result<JobFacts> load_job(std::uint32_t job, const Identity& identity);
/// True; Failure `finished` where it has ended already.
Result<bool> release(std::uint32_t job, const std::string& token);
/// SIGKILL ends the job whatever its state; any other signal goes to the ranks of a running job
/// only: srun would answer SIGTERM by killing them at once.
Result<bool> signal_job(std::uint32_t job, int signal);

/// Jobs of this user with our comment or a name of ours. `known` is the time of the previous
/// answer; nothing changed since: no value.
struct Listing {
  std::time_t time = 0;
  std::vector<JobFacts> jobs;
};
Result<std::optional<Listing>> list_jobs(std::time_t known);

}  // namespace thalweg::slurm_agent
