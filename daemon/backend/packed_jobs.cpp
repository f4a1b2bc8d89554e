// As the controller does it with attempts: a job is written down before it is submitted, submitted
// held, and released when its number is written down, too.
#include "daemon/backend/packed_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "daemon/backend/packed_judge.h"
#include "daemon/state/node_health.h"

namespace thalweg::daemon {

namespace fs = std::filesystem;

namespace {

// Beyond its trials' time: what starting takes, so that as many trials as it has places find their
// whole limit left, and what ending the last ones takes.
constexpr std::int64_t start_margin_s = 30, end_margin_s = 30;
constexpr double first_pause_s = 2, max_pause_s = 60;
constexpr double release_again_s = 30;

/// The pause before the next job grows.
void note_failure(PackOfTrials& pack, const std::string& why) {
  pack.trouble = why;
  ++pack.failures;
  const double pause = first_pause_s * std::pow(2, std::min(pack.failures - 1, 10));
  pack.not_before = pack_clock() + std::min(pause, max_pause_s);
}

/// The worker's node was lost, which with --no-kill ends neither the job nor, without a worker, its
/// steps.
bool lost_its_worker(const JobOfPack& job) {
  const std::vector<std::string> nodes = node_names(job.status->node_list);
  return !job.files.node.empty() && !nodes.empty() &&
         std::find(nodes.begin(), nodes.end(), job.files.node) == nodes.end();
}

/// Slurm itself holds a job that could not run when it looked, as where a node was just being
/// restarted, and never looks again.
bool may_release(const JobOfPack& job) {
  if (!job.status->held_by_hand) return true;
  return job.status->reason.find("BadConstraints") != std::string::npos &&
         pack_clock() - job.released >= release_again_s;
}

}  // namespace

double pack_clock() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

bool is_packed(const LaunchRequest& request) {
  return request.slurm.pack.trials > 0;
}

bool JobOfPack::over() const {
  return status && is_over(*status);
}

int PackOfTrials::live() const {
  return static_cast<int>(
      std::count_if(jobs.begin(), jobs.end(), [](const auto& job) { return !job.second.over(); }));
}

std::string PackOfTrials::why_queued() const {
  std::string waiting;
  for (const auto& [token, job] : jobs) {
    if (!job.status || job.over()) continue;
    if (job.status->phase == JobPhase::running) return "a place in job " + job.files.handle;
    waiting = fmt::format("job {}, which it will share, waits", job.files.handle);
    if (!job.status->reason.empty()) waiting += ": " + job.status->reason;
  }
  if (!waiting.empty()) return waiting;
  return trouble.empty() ? "a job that it can share" : trouble;
}

LaunchRequest PackJobs::request(const LaunchRequest& of, const std::string& token,
                                const fs::path& folder) const {
  LaunchRequest job = of;
  job.id = {of.id.sweep, 0, 0};
  job.token = token;
  job.folder = folder;
  job.resources.time_limit_s = jobspec::pack_limit_s(of.slurm.pack, of.resources.time_limit_s) +
                               start_margin_s + end_margin_s;
  job.shared = Shared{of.slurm.pack.trials, config_.worker};
  return job;
}

PackOfTrials& PackJobs::pack_of(const fs::path& folder) {
  const auto [it, is_new] = packs_.try_emplace(folder.string());
  if (is_new) {
    it->second.folder = folder;
    read_jobs(it->second);
  }
  return it->second;
}

void PackJobs::read_jobs(PackOfTrials& pack) {
  const auto found = disk_.run([folder = pack.folder] { return unsettled_jobs(folder); });
  for (const PackedJob& job : found) {
    JobOfPack& known = pack.jobs[job.token];
    const std::string handle = known.files.handle;
    if (known.heard == 0 || known.files.heartbeat != job.heartbeat) known.heard = pack_clock();
    known.files = job;
    if (known.files.handle.empty()) known.files.handle = handle;
  }
}

/// Written down, submitted held, its number written down, released: as the controller does it with
/// attempts.
Awaitable<Submission> PackJobs::add(PackOfTrials& pack, const LaunchRequest& of) {
  const std::string token = config_.token();
  const fs::path folder = pack::job_folder(pack.folder, token);
  const LaunchRequest job = request(of, token, folder);
  const pack::Job content{token, job.shared->trials, job.resources.time_limit_s - end_margin_s,
                          static_cast<std::int64_t>(backend_.grace_s())};
  disk_.run([folder, content, script = backend_.script(job)] {
    pack::make_job(folder);
    pack::write_text(folder / "batch.sh", script);
    pack::write_job(folder, content);
  });
  pack.jobs[token].files.token = token;
  const Submission submission = co_await backend_.submit(job);
  if (submission.outcome == SubmitOutcome::accepted) {
    pack.jobs[token].files.handle = submission.handle;
    disk_.run([folder, handle = submission.handle] {
      pack::write_text(folder / "handle", handle + "\n");
    });
    co_await backend_.release(job, submission.handle);  // else the next look finds it held
  } else if (submission.outcome != SubmitOutcome::unknown) {
    pack.jobs.erase(token);
    note_failure(pack, submission.message);
    disk_.run([of_pack = pack.folder, token] { settle(of_pack, token); });
  }
  co_return submission;
}

/// Takes the packs' jobs out of what the other backend says of everything that is Thalweg's. One
/// whose number a watched attempt has stays: the number was given to another job.
void PackJobs::take(std::vector<JobStatus>& statuses,
                    const std::vector<Backend::TrackedJob>& plain) {
  for (auto& [folder, pack] : packs_)
    for (auto& [token, job] : pack.jobs)
      job.status.reset();
  std::erase_if(statuses, [&](const JobStatus& status) {
    const auto folder = pack_of_job(status);
    if (!folder) return false;
    PackOfTrials& pack = pack_of(*folder);
    if (const auto job = pack.jobs.find(status.token); job != pack.jobs.end())
      take_job(pack, job->second, status);
    return std::none_of(plain.begin(), plain.end(), [&](const Backend::TrackedJob& attempt) {
      return attempt.handle == status.handle;
    });
  });
  for (auto& [folder, pack] : packs_) {
    for (auto it = pack.jobs.begin(); it != pack.jobs.end();) {
      const bool never = !it->second.status && it->second.files.handle.empty();
      if (never) disk_.run([f = pack.folder, token = it->first] { settle(f, token); });
      it = never ? pack.jobs.erase(it) : std::next(it);
    }
    read_jobs(pack);  // after the look: of a job that has ended all is written
  }
}

void PackJobs::track(std::vector<Backend::TrackedJob>& asked) const {
  for (const auto& [folder, pack] : packs_)
    for (const auto& [token, job] : pack.jobs)
      if (!job.files.handle.empty())
        asked.push_back({job.files.handle, token, pack::job_folder(pack.folder, token)});
}

void PackJobs::take_job(PackOfTrials& pack, JobOfPack& job, const JobStatus& status) {
  std::string& handle = job.files.handle;
  if (handle.empty() && !is_over(status)) {
    handle = status.handle;  // submitted by a controller that ended before it could write it down
    disk_.run([file = pack::job_folder(pack.folder, status.token) / "handle", handle] {
      pack::write_text(file, handle + "\n");
    });
  }
  if (handle == status.handle || handle.empty())
    job.status = status;
  else if (!is_over(status))
    doubles_.push_back({status.handle, status.token, status.folder});
}

/// Written down before it is ended, so that its end is known for ours.
Awaitable<void> PackJobs::withdraw(const PackOfTrials& pack, const std::string& token,
                                   JobOfPack& job) {
  const fs::path folder = pack::job_folder(pack.folder, token);
  disk_.run([folder] { pack::write_text(folder / "withdrawn", ""); });
  job.files.withdrawn = true;
  const Backend::TrackedJob unneeded{job.files.handle, token, folder};
  co_await backend_.cancel(unneeded, Ending::by_force);
}

Awaitable<void> PackJobs::look_after() {
  for (const Backend::TrackedJob& job : std::exchange(doubles_, {}))
    co_await backend_.cancel(job, Ending::by_force);
  for (auto& [folder, pack] : packs_) {
    for (auto& [token, job] : pack.jobs) {
      if (!job.status) continue;
      if (job.status->phase == JobPhase::held && !job.files.withdrawn && may_release(job)) {
        job.released = pack_clock();
        LaunchRequest again;
        again.token = token;
        again.folder = pack::job_folder(pack.folder, token);
        co_await backend_.release(again, job.files.handle);
      }
      const bool works = job.status->phase == JobPhase::running && job.files.began;
      const bool silent = pack_clock() - job.heard >= config_.silent_s;
      if (works && (silent || lost_its_worker(job))) co_await withdraw(pack, token, job);
      if (!job.over() || std::exchange(job.counted, true)) continue;
      if (job.files.took) {
        pack.failures = 0;
        pack.trouble.clear();
      } else if (!job.files.withdrawn) {
        note_failure(pack, fmt::format("job {} ended before it had a trial: {}", job.files.handle,
                                       job.status->reason));
      }
    }
  }
}

/// A job that runs ends by itself when there is nothing to do; one that waits would still get its
/// nodes.
Awaitable<void> PackJobs::drop_unneeded() {
  for (auto& [folder, pack] : packs_) {
    const bool empty = disk_.run([f = pack.folder] { return pack::tasks_in(f / "queue").empty(); });
    for (auto& [token, job] : pack.jobs) {
      const bool waits = job.status && (job.status->phase == JobPhase::held ||
                                        job.status->phase == JobPhase::queued);
      if (!empty || !waits) {
        job.unneeded = 0;
        continue;
      }
      if (job.unneeded == 0) job.unneeded = pack_clock();
      if (pack_clock() - job.unneeded < config_.unneeded_s) continue;
      co_await withdraw(pack, token, job);
    }
  }
}

void PackJobs::settle_ended(const std::set<std::string>& needed,
                            const std::set<const PackOfTrials*>& watched) {
  for (auto& [folder, pack] : packs_) {
    for (auto it = pack.jobs.begin(); it != pack.jobs.end();) {
      const bool done = it->second.over() && it->second.counted && needed.count(it->first) == 0;
      if (done) disk_.run([f = pack.folder, token = it->first] { settle(f, token); });
      it = done ? pack.jobs.erase(it) : std::next(it);
    }
  }
  std::erase_if(packs_, [&](const auto& entry) {
    return entry.second.jobs.empty() && watched.count(&entry.second) == 0;
  });
}

/// As many as the trials that wait or run can fill, and slurm.pack.jobs allows.
Awaitable<void> PackJobs::ask_for_more(const std::map<PackOfTrials*, Trials>& trials) {
  for (const auto& [pack, count] : trials) {
    if (count.waiting == 0 || pack_clock() < pack->not_before) continue;
    const auto of = disk_.run([folder = pack->folder] { return read_template(folder); });
    if (!of || !is_packed(*of)) continue;
    const int places = of->slurm.pack.trials;
    const int filled = (count.waiting + count.in_jobs + places - 1) / places;
    while (pack->live() < std::min(of->slurm.pack.jobs, filled)) {
      const Submission job = co_await add(*pack, *of);
      if (job.outcome != SubmitOutcome::accepted) break;
    }
  }
}

}  // namespace thalweg::daemon
