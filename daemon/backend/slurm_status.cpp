// What each state and reason of Slurm means for an attempt.
#include "daemon/backend/slurm_status.h"

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "daemon/backend/slurm_request.h"

namespace thalweg::daemon {

using slurm_agent::JobFacts;

namespace {

enum class Mark { none, cancelled, timed_out, node_failed, node_lost };

struct EndState {
  std::string_view name;
  Mark mark;
  std::string_view words;
};

// A preempted job lost its nodes through no fault of its own, as with a failed node.
constexpr std::array<EndState, 9> end_states = {{
    {"COMPLETED", Mark::none, "completed"},
    {"FAILED", Mark::none, "failed"},
    {"CANCELLED", Mark::cancelled, "cancelled in Slurm"},
    {"TIMEOUT", Mark::timed_out, "time limit reached"},
    {"DEADLINE", Mark::timed_out, "deadline reached"},
    {"NODE_FAIL", Mark::node_lost, "a node failed"},
    {"BOOT_FAIL", Mark::node_failed, "a node failed to boot"},
    {"PREEMPTED", Mark::node_failed, "preempted by another job"},
    {"OUT_OF_MEMORY", Mark::none, "out of memory"},
}};

struct PendingReason {
  std::string_view name, words;
};

// Reasons to wait that time alone does not remove.
constexpr std::array<PendingReason, 12> never_ending = {{
    {"BadConstraints", "no nodes have what is asked for: it can never start"},
    {"PartitionNodeLimit",
     "outside the partition's limit of nodes: it cannot start unless that changes or nodes that "
     "are down come back"},
    {"PartitionTimeLimit", "longer than the partition allows: it can never start"},
    {"DependencyNeverSatisfied", "what it depends on can no longer happen: it can never start"},
    {"InvalidAccount", "the account is not valid: it can never start"},
    {"InvalidQOS", "the QOS is not valid: it can never start"},
    {"QOSMaxCpuPerJobLimit", "more CPUs than the QOS allows a job: it can never start"},
    {"QOSMaxNodePerJobLimit", "more nodes than the QOS allows a job: it can never start"},
    {"QOSMaxWallDurationPerJobLimit", "longer than the QOS allows: it can never start"},
    {"AssocMaxCpuPerJobLimit", "more CPUs than the account allows a job: it can never start"},
    {"AssocMaxNodePerJobLimit", "more nodes than the account allows a job: it can never start"},
    {"AssocMaxWallDurationPerJobLimit", "longer than the account allows: it can never start"},
}};

std::string explained(const std::string& reason) {
  const std::string_view name = std::string_view(reason).substr(0, reason.find(':'));
  for (const PendingReason& row : never_ending)
    if (row.name == name) return reason + " (" + std::string(row.words) + ")";
  return reason;
}

// Slurm reports some failures of its own as signals beyond the real ones.
constexpr int last_real_signal = 31;
// srun turns a rank's death by signal n into exit code 128 + n.
constexpr int signal_exit = 128;

void read_exit(const JobFacts& job, JobStatus& status) {
  const int batch = static_cast<int>(job.exit);
  const int steps = static_cast<int>(job.steps_exit);
  const int raw = steps != 0 ? steps : batch;
  if (WIFSIGNALED(raw)) {
    if (WTERMSIG(raw) <= last_real_signal) status.signal = WTERMSIG(raw);
    return;
  }
  const int code = WEXITSTATUS(raw);
  if (code > signal_exit && code <= signal_exit + last_real_signal) {
    status.signal = code - signal_exit;
  } else {
    status.exit_code = code;
  }
}

void read_end(const JobFacts& job, const EndState& end, JobStatus& status) {
  status.phase = JobPhase::ended;
  status.ended = static_cast<double>(job.ended);
  status.cancelled = end.mark == Mark::cancelled;
  status.timed_out = end.mark == Mark::timed_out;
  status.node_failed = end.mark == Mark::node_failed || end.mark == Mark::node_lost;
  status.may_go_on = end.mark == Mark::node_lost;  // it may be only out of slurmctld's reach
  const std::string detail = status.reason;
  status.reason = end.words;
  if (!detail.empty() && detail != "NonZeroExitCode" && detail != "TimeLimit") {
    status.reason += " (" + detail + ")";
  }
  // The exit of a job that Slurm ended says how Slurm ended it.
  const bool own_end = end.mark == Mark::none || end.mark == Mark::cancelled;
  if (own_end && status.started > 0) read_exit(job, status);
}

}  // namespace

JobStatus slurm_status(const JobFacts& job) {
  JobStatus status;
  status.handle = std::to_string(job.job);
  status.token = job.token;
  status.reason = job.reason;
  status.node_list = job.nodes;
  // A job that is cancelled while it waits gets a start time all the same, but no nodes.
  if (!status.node_list.empty()) {
    status.started = static_cast<double>(job.started);
    status.eligible = static_cast<double>(job.eligible);
    status.nodes = static_cast<int>(job.node_count);
  }
  status.folder = job.folder;
  status.user = job.user;
  if (job.state == "PENDING") {
    status.phase = job.held ? JobPhase::held : JobPhase::queued;
    status.reason = explained(status.reason);
    status.held_by_hand = status.phase == JobPhase::held && job.released;
    if (status.held_by_hand) status.reason = "held by hand: " + status.reason;
    return status;
  }
  const auto* end = std::find_if(end_states.begin(), end_states.end(),
                                 [&](const EndState& row) { return row.name == job.state; });
  // While it completes, ranks may still be alive and files still be written.
  if (end == end_states.end() || job.completing) {
    status.phase = JobPhase::running;
    return status;
  }
  read_end(job, *end, status);
  return status;
}

bool of_owner(const JobStatus& status, const Backend::TrackedJob& job) {
  return !job.identity || status.user == job.identity->uid;
}

void drop_others(std::vector<JobStatus>& statuses,
                 const std::vector<Backend::TrackedJob>& watched) {
  std::map<std::string, const Backend::TrackedJob*> by_token;
  for (const Backend::TrackedJob& job : watched)
    by_token[job.token] = &job;
  std::erase_if(statuses, [&](const JobStatus& status) {
    const auto named = by_token.find(status.token);
    return named != by_token.end() && !of_owner(status, *named->second);
  });
}

void recognize(JobStatus& status, const Backend::TrackedJob& job) {
  if (status.token == job.token) return;
  status.token = job.token;
  status.changed = true;
  status.held_by_hand = status.phase == JobPhase::held;  // who changes comments may hold, too
}

bool was_warned(const JobStatus& status, const Backend::TrackedJob& job) {
  const std::int64_t earliest_s = earliest_warning_s(job.resources, job.signal_before_end_s);
  return status.started > 0 && earliest_s > 0 &&
         status.ended - status.started >= static_cast<double>(earliest_s);
}

}  // namespace thalweg::daemon
