// An end that is not known is never claimed: the step's own end first, then that of its job, which
// says nothing of what its ranks still do where the worker died before its steps.
#include "daemon/backend/packed_judge.h"

#include <fmt/format.h>

#include "daemon/pack/worker.h"

namespace thalweg::daemon {

namespace fs = std::filesystem;

namespace {

void read_own_end(const pack::End& end, const std::string& job, JobStatus& status) {
  status.phase = JobPhase::ended;
  status.ended = end.time;
  status.signal = end.signal;
  if (end.signal == 0) status.exit_code = end.code;
  status.timed_out = end.timed_out;
  status.warned = end.warned;
  status.node_failed = end.node_failed;
  status.may_go_on = end.may_go_on;
  status.reason = end.reason.empty() ? "in job " + job : end.reason + " (job " + job + ")";
}

/// slurmctld that was killed may take the job for one that waits, start it once more, and call it
/// cancelled when its nodes, which still have it, refuse: that end is not of the start that ran.
bool is_of_other_start(const JobStatus& job, double step_started) {
  constexpr double clock_resolution_s = 1;  // of Slurm's times
  return step_started > 0 && job.started > step_started + clock_resolution_s;
}

void read_end_of_job(const JobStatus& job, const PackedJob& files, JobStatus& status) {
  status.phase = job.phase;
  status.ended = job.ended;
  status.reason = fmt::format("its job {} ended before it: {}", files.handle, job.reason);
  if (status.node_list.empty()) status.node_list = job.node_list;
  const bool lost_worker = files.began && files.withdrawn && job.cancelled;  // ended by us
  if (lost_worker) status.reason = fmt::format("its job {} lost its worker", files.handle);
  const bool by_nobody = is_of_other_start(job, status.started) || lost_worker;
  status.cancelled = job.cancelled && !by_nobody;
  status.timed_out = job.timed_out;
  status.node_failed = job.node_failed;
  if (files.began) {
    status.may_go_on = job.may_go_on || job.exit_code == pack::exit_superseded || by_nobody ||
                       !(job.cancelled || job.timed_out || job.node_failed);
    return;
  }
  status.exit_code = job.exit_code;
  status.signal = job.signal;
  status.may_go_on = job.may_go_on;
  status.reason = fmt::format("job {}, which it was to share: {}", files.handle, job.reason);
}

}  // namespace

bool is_over(const JobStatus& job) {
  return job.phase == JobPhase::ended || job.phase == JobPhase::missing;
}

bool is_shared_end(const JobStatus& job) {
  if (job.phase != JobPhase::ended || job.node_failed || job.may_go_on) return false;
  return job.cancelled || job.timed_out || job.signal != 0 || job.exit_code.value_or(1) != 0;
}

std::optional<fs::path> pack_of_job(const JobStatus& status) {
  const fs::path folder = status.folder, jobs = folder.parent_path(), pack = jobs.parent_path();
  const bool named = !status.token.empty() && folder.filename() == status.token &&
                     jobs.filename() == "jobs" && pack.parent_path().filename() == "pack";
  return named ? std::optional(pack) : std::nullopt;
}

void judge(const TaskPlace& place, const PackedJob& files, const std::optional<JobStatus>& job,
           JobStatus& status) {
  if (place.start) {
    status.started = place.start->time;
    status.node_list = place.start->node;
    status.job_step = place.start->step;
  }
  if (place.end) {
    read_own_end(*place.end, files.handle, status);
  } else if (job && is_over(*job)) {
    read_end_of_job(*job, files, status);
  } else if (place.start) {
    status.phase = JobPhase::running;
  } else {
    status.phase = JobPhase::queued;
    status.reason = "begins in job " + files.handle;
  }
}

}  // namespace thalweg::daemon
