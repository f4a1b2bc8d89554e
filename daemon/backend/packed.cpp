// A look: first what the other backend says of the packs' jobs, then where each attempt's task is,
// since a task that is in no job when its job ended never ran. Only then jobs are asked for. What
// is kept in memory can all be lost: files and the other backend tell it again.
#include "daemon/backend/packed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <system_error>

#include "base/clock.h"
#include "base/text.h"
#include "daemon/backend/disk.h"
#include "daemon/backend/packed_files.h"
#include "daemon/backend/packed_judge.h"
#include "daemon/backend/slurm_script.h"
#include "jobspec/time_warning.h"

namespace thalweg::daemon {

namespace fs = std::filesystem;

namespace {

using Statuses = std::vector<JobStatus>;

constexpr std::int64_t start_margin_s = 60;  ///< what starting the worker may take of a job's time
constexpr double first_pause_s = 2, max_pause_s = 60;

double steady_now() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

struct Job {
  PackedJob files;
  std::optional<JobStatus> status;  ///< by the last look; nothing = not seen yet
  double unneeded = 0;              ///< since when
  bool counted = false;             ///< its end, for the pauses between jobs

  bool over() const { return status && is_over(*status); }
};

struct Pack {
  fs::path folder;
  std::map<std::string, Job> jobs{};  ///< by token; those that are not settled
  int failures = 0;                   ///< jobs in a row of which no trial had anything
  double not_before = 0;
  std::string trouble{};  ///< why there is no job

  int live() const {
    return static_cast<int>(std::count_if(jobs.begin(), jobs.end(),
                                          [](const auto& job) { return !job.second.over(); }));
  }
  void failed(const std::string& why) {
    trouble = why;
    ++failures;
    const double pause = first_pause_s * std::pow(2, std::min(failures - 1, 10));
    not_before = steady_now() + std::min(pause, max_pause_s);
  }
};

/// A watched attempt.
struct Member {
  Backend::TrackedJob attempt;
  PackHandle handle;
  Pack* pack = nullptr;
  TaskPlace place{};
};

std::string unfit(const LaunchRequest& request) {
  if (request.identity)
    return "slurm.pack: a controller that serves several users (thalwegd --site) runs each attempt "
           "as a job of its own; leave slurm.pack out";
  if (request.resources.elastic() || request.resources.nodes != 1)
    return "slurm.pack: trials that share a job take one node each";
  return "";
}

bool is_packed(const LaunchRequest& request) {
  return request.slurm.pack.trials > 0;
}

class PackedBackend final : public Backend {
 public:
  PackedBackend(std::unique_ptr<Backend> jobs, PackedConfig config)
      : jobs_(std::move(jobs)), config_(std::move(config)) {}

  std::string name() const override { return jobs_->name(); }
  bool on_this_machine() const override { return jobs_->on_this_machine(); }
  double forgets_s() const override { return jobs_->forgets_s(); }
  double age_s() const override { return jobs_->age_s(); }
  void tell_ends(boost::asio::any_io_executor executor, std::function<void()> call) override {
    jobs_->tell_ends(std::move(executor), std::move(call));
  }
  double grace_s() const override { return jobs_->grace_s(); }
  bool has_room(const jobspec::Resources& wanted,
                const std::vector<jobspec::Resources>& running) const override {
    return jobs_->has_room(wanted, running);
  }
  Awaitable<Submission> submit(const LaunchRequest& request) override;
  /// An attempt's folder keeps the script of a job of its own: by hand it runs alone.
  std::string script(const LaunchRequest& request) const override {
    const bool shown = is_packed(request) && request.id.sweep == 0;
    return jobs_->script(shown ? example_of(request) : request);
  }
  Awaitable<std::optional<Forecast>> forecast(const LaunchRequest& request) override;
  Awaitable<bool> release(const LaunchRequest& request, const std::string& handle) override;
  Awaitable<std::optional<Statuses>> poll(const std::vector<TrackedJob>& watched) override;
  Awaitable<bool> cancel(const TrackedJob& job, Ending how) override;
  Awaitable<Authorization> authorize(const std::string& credential,
                                     const std::string& digest) override {
    return jobs_->authorize(credential, digest);
  }
  std::optional<CredentialReader> credential_reader() const override {
    return jobs_->credential_reader();
  }
  Awaitable<bool> revoke(const std::string& grant) override { return jobs_->revoke(grant); }
  Awaitable<Preparation> prepare(const LaunchRequest& request,
                                 const std::map<std::string, std::string>& files) override {
    return jobs_->prepare(request, files);
  }
  Awaitable<Emptying> empty(const Identity& identity,
                            const std::vector<fs::path>& folders) override {
    return jobs_->empty(identity, folders);
  }
  Awaitable<std::string> describe() override { return jobs_->describe(); }

 private:
  LaunchRequest job_request(const LaunchRequest& of, const std::string& token,
                            const fs::path& folder) const;
  LaunchRequest example_of(const LaunchRequest& request) const {
    return job_request(request, "",
                       pack_folder(request.folder, pack_handle(request).hash) / "jobs" / "<token>");
  }
  Pack& pack_of(const fs::path& folder);
  void read_jobs(Pack& pack);
  Awaitable<Submission> add_job(Pack& pack, const LaunchRequest& of);
  void take_jobs(Statuses& statuses, const std::vector<TrackedJob>& plain);
  void take_job(Pack& pack, Job& job, const JobStatus& status);
  Awaitable<void> look_after_jobs();
  void find_tasks(std::vector<Member>& members);
  void share_ends(std::vector<Member>& members);
  JobStatus status_of(const Member& member);
  JobStatus lost_sight_of(const Member& member, JobStatus status);
  std::string why_queued(const Pack& pack) const;
  Awaitable<void> ask_for_jobs(const std::vector<Member>& members);
  Awaitable<void> drop_unneeded();
  void settle_jobs(const std::vector<Member>& members);

  std::unique_ptr<Backend> jobs_;
  PackedConfig config_;
  Disk disk_;
  std::map<std::string, Pack> packs_;  ///< by folder
  /// What was seen of attempts that are watched, by handle.
  struct Seen {
    std::string job;          ///< token
    JobStatus status;         ///< the last one
    double hidden_since = 0;  ///< its task was not found since
  };
  std::map<std::string, Seen> seen_;
  std::vector<TrackedJob> doubles_;  ///< jobs that carry a job's token and are not it
};

LaunchRequest PackedBackend::job_request(const LaunchRequest& of, const std::string& token,
                                         const fs::path& folder) const {
  LaunchRequest job = of;
  job.id = {of.id.sweep, 0, 0};
  job.token = token;
  job.folder = folder;
  job.resources.time_limit_s =
      jobspec::pack_limit_s(of.slurm.pack, of.resources.time_limit_s) + start_margin_s;
  job.shared = Shared{of.slurm.pack.trials, config_.worker};
  return job;
}

Pack& PackedBackend::pack_of(const fs::path& folder) {
  const auto [it, is_new] = packs_.try_emplace(folder.string());
  if (is_new) {
    it->second.folder = folder;
    read_jobs(it->second);
  }
  return it->second;
}

void PackedBackend::read_jobs(Pack& pack) {
  const auto found = disk_.run([folder = pack.folder] { return unsettled_jobs(folder); });
  for (const PackedJob& job : found) {
    Job& known = pack.jobs[job.token];
    const std::string handle = known.files.handle;
    known.files = job;
    if (known.files.handle.empty()) known.files.handle = handle;
  }
}

Awaitable<Submission> PackedBackend::submit(const LaunchRequest& request) {
  if (!is_packed(request)) co_return co_await jobs_->submit(request);
  if (const std::string why = unfit(request); !why.empty())
    co_return Submission{SubmitOutcome::refused, "", why};
  const PackHandle handle = pack_handle(request);
  const fs::path folder = pack_folder(request.folder, handle.hash);
  disk_.run([folder, request] {
    pack::make_pack(folder);
    write_template(folder, request);
  });
  Pack& pack = pack_of(folder);
  if (pack.live() == 0 && steady_now() >= pack.not_before) {
    const Submission job = co_await add_job(pack, request);
    if (job.outcome == SubmitOutcome::refused || job.outcome == SubmitOutcome::retry_later)
      co_return Submission{job.outcome, "", job.message};
  }
  co_return Submission{SubmitOutcome::accepted, handle.text(), ""};
}

/// Written down, submitted held, its number written down, released: as the controller does it with
/// attempts.
Awaitable<Submission> PackedBackend::add_job(Pack& pack, const LaunchRequest& of) {
  const std::string token = config_.token();
  const fs::path folder = pack::job_folder(pack.folder, token);
  const LaunchRequest job = job_request(of, token, folder);
  const pack::Job content{token, job.shared->trials, job.resources.time_limit_s - start_margin_s,
                          static_cast<std::int64_t>(jobs_->grace_s())};
  disk_.run([folder, content] {
    pack::make_job(folder);
    pack::write_job(folder, content);
  });
  pack.jobs[token].files.token = token;
  const Submission submission = co_await jobs_->submit(job);
  if (submission.outcome == SubmitOutcome::accepted) {
    pack.jobs[token].files.handle = submission.handle;
    disk_.run([folder, handle = submission.handle] {
      pack::write_text(folder / "handle", handle + "\n");
    });
    co_await jobs_->release(job, submission.handle);  // else the next look finds it held
  } else if (submission.outcome != SubmitOutcome::unknown) {
    pack.jobs.erase(token);
    pack.failed(submission.message);
    disk_.run([of_pack = pack.folder, token] { settle(of_pack, token); });
  }
  co_return submission;
}

Awaitable<std::optional<Forecast>> PackedBackend::forecast(const LaunchRequest& request) {
  if (!is_packed(request)) co_return co_await jobs_->forecast(request);
  if (const std::string why = unfit(request); !why.empty()) {
    Forecast refused;
    refused.refused = true;
    refused.message = why;
    co_return refused;
  }
  const LaunchRequest job = example_of(request);
  co_return co_await jobs_->forecast(job);
}

Awaitable<bool> PackedBackend::release(const LaunchRequest& request, const std::string& handle) {
  const auto own = PackHandle::parse(handle);
  if (!own) co_return co_await jobs_->release(request, handle);
  LaunchRequest step = request;
  step.shared = Shared{request.slurm.pack.trials, config_.worker};
  pack::Task task;
  task.token = request.token;
  task.folder = request.folder;
  task.command = shared_step({step, config_.srun, config_.train_program});
  task.limit_s = request.resources.time_limit_s;
  task.warning_s = jobspec::warning_s(task.limit_s, request.slurm.signal_before_end_s);
  try {
    disk_.run([folder = pack_folder(request.folder, own->hash), name = own->name, task] {
      enqueue(folder, name, task);
    });
    seen_.try_emplace(handle);
    co_return true;
  } catch (const std::system_error&) {
  } catch (const DiskHangs&) {
  }
  co_return false;
}

Awaitable<bool> PackedBackend::cancel(const TrackedJob& job, Ending how) {
  const auto own = PackHandle::parse(job.handle);
  if (!own) co_return co_await jobs_->cancel(job, how);
  try {
    disk_.run([folder = pack_folder(job.folder, own->hash), name = own->name, how] {
      if (pack::is_there(folder)) cancel_task(folder, name, how);
    });
    co_return true;
  } catch (const std::system_error&) {
  } catch (const DiskHangs&) {
  }
  co_return false;
}

Awaitable<std::optional<Statuses>> PackedBackend::poll(const std::vector<TrackedJob>& watched) {
  std::vector<TrackedJob> plain;
  std::vector<Member> members;
  try {
    for (const TrackedJob& job : watched) {
      if (const auto own = PackHandle::parse(job.handle))
        members.push_back({job, *own, &pack_of(pack_folder(job.folder, own->hash))});
      else
        plain.push_back(job);
    }
    std::vector<TrackedJob> asked = plain;
    for (auto& [folder, pack] : packs_) {
      read_jobs(pack);
      for (const auto& [token, job] : pack.jobs)
        if (!job.files.handle.empty())
          asked.push_back({job.files.handle, token, pack::job_folder(pack.folder, token)});
    }
    auto statuses = co_await jobs_->poll(asked);
    if (!statuses) co_return std::nullopt;
    take_jobs(*statuses, plain);
    find_tasks(members);
    share_ends(members);
    std::map<std::string, Seen> seen;
    for (const Member& member : members) {
      statuses->push_back(status_of(member));
      seen[member.attempt.handle] = {member.place.job, statuses->back(),
                                     seen_[member.attempt.handle].hidden_since};
    }
    seen_ = std::move(seen);
    settle_jobs(members);
    co_await look_after_jobs();
    co_await ask_for_jobs(members);
    co_await drop_unneeded();
    co_return statuses;
  } catch (const std::system_error&) {
  } catch (const DiskHangs&) {
  }
  co_return std::nullopt;
}

/// Takes the packs' jobs out of what the other backend says of everything that is Thalweg's. One
/// whose number a watched attempt has stays: the number was given to another job.
void PackedBackend::take_jobs(Statuses& statuses, const std::vector<TrackedJob>& plain) {
  for (auto& [folder, pack] : packs_)
    for (auto& [token, job] : pack.jobs)
      job.status.reset();
  std::erase_if(statuses, [&](const JobStatus& status) {
    const auto folder = pack_of_job(status);
    if (!folder) return false;
    Pack& pack = pack_of(*folder);
    if (const auto job = pack.jobs.find(status.token); job != pack.jobs.end())
      take_job(pack, job->second, status);
    return std::none_of(plain.begin(), plain.end(),
                        [&](const TrackedJob& attempt) { return attempt.handle == status.handle; });
  });
  for (auto& [folder, pack] : packs_) {
    for (auto it = pack.jobs.begin(); it != pack.jobs.end();) {
      const bool never = !it->second.status && it->second.files.handle.empty();
      if (never) disk_.run([f = pack.folder, token = it->first] { settle(f, token); });
      it = never ? pack.jobs.erase(it) : std::next(it);
    }
  }
}

void PackedBackend::take_job(Pack& pack, Job& job, const JobStatus& status) {
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

Awaitable<void> PackedBackend::look_after_jobs() {
  for (const TrackedJob& job : std::exchange(doubles_, {}))
    co_await jobs_->cancel(job, Ending::by_force);
  for (auto& [folder, pack] : packs_) {
    for (auto& [token, job] : pack.jobs) {
      if (!job.status) continue;
      if (job.status->phase == JobPhase::held && !job.status->held_by_hand &&
          !job.files.withdrawn) {
        LaunchRequest again;
        again.token = token;
        again.folder = pack::job_folder(pack.folder, token);
        co_await jobs_->release(again, job.files.handle);
      }
      if (!job.over() || std::exchange(job.counted, true)) continue;
      if (job.files.took) {
        pack.failures = 0;
        pack.trouble.clear();
      } else if (!job.files.withdrawn) {
        pack.failed(fmt::format("job {} ended before it had a trial: {}", job.files.handle,
                                job.status->reason));
      }
    }
  }
}

void PackedBackend::find_tasks(std::vector<Member>& members) {
  for (Member& member : members) {
    std::vector<std::string> jobs;
    const auto before = seen_.find(member.attempt.handle);
    if (before != seen_.end() && !before->second.job.empty()) jobs.push_back(before->second.job);
    for (const auto& [token, job] : member.pack->jobs)
      if (jobs.empty() || token != jobs.front()) jobs.push_back(token);
    member.place = disk_.run([folder = member.pack->folder, name = member.handle.name, jobs] {
      return find_task(folder, name, jobs);
    });
  }
}

void PackedBackend::share_ends(std::vector<Member>& members) {
  for (auto& [folder, pack] : packs_) {
    for (auto& [token, job] : pack.jobs) {
      if (!job.status || job.files.took || job.files.withdrawn || job.files.began ||
          !is_shared_end(*job.status))
        continue;
      const auto content =
          disk_.run([f = pack::job_folder(pack.folder, token)] { return pack::read_job(f); });
      std::vector<std::string> names;
      for (Member& member : members) {
        if (member.pack != &pack || member.place.where != TaskPlace::Where::queue || !content ||
            static_cast<int>(names.size()) >= content->trials)
          continue;
        names.push_back(member.handle.name);
        member.place.where = TaskPlace::Where::job;
        member.place.job = token;
      }
      disk_.run([f = pack.folder, t = token, names] { share_end(f, t, names); });
      job.files.took = !names.empty();
    }
  }
}

JobStatus PackedBackend::status_of(const Member& member) {
  JobStatus status;
  status.handle = member.attempt.handle;
  status.token = member.attempt.token;
  status.folder = member.attempt.folder.string();
  using Where = TaskPlace::Where;
  switch (member.place.where) {
    case Where::queue:
      status.phase = JobPhase::queued;
      status.reason = why_queued(*member.pack);
      break;
    case Where::withdrawn:
      status.phase = JobPhase::ended;
      status.cancelled = true;
      status.reason = "taken out of the pack's queue";
      break;
    case Where::nowhere:
      return lost_sight_of(member, std::move(status));
    case Where::job: {
      const auto job = member.pack->jobs.find(member.place.job);
      const bool known = job != member.pack->jobs.end();
      judge(member.place, known ? job->second.files : PackedJob{},
            known ? job->second.status : std::nullopt, status);
    }
  }
  seen_[member.attempt.handle].hidden_since = 0;
  return status;
}

/// Never queued, as far as we know: held. Else a shared filesystem may still hide where it went.
JobStatus PackedBackend::lost_sight_of(const Member& member, JobStatus status) {
  const auto before = seen_.find(member.attempt.handle);
  if (before == seen_.end()) {
    status.phase = JobPhase::held;
    return status;
  }
  Seen& seen = before->second;
  if (seen.hidden_since == 0) seen.hidden_since = steady_now();
  const bool ran = seen.status.phase == JobPhase::running;
  if (steady_now() - seen.hidden_since < config_.hidden_s) {
    if (ran) return seen.status;
    status.phase = JobPhase::queued;
    status.reason = "its job takes it";
    return status;
  }
  status.phase = JobPhase::missing;
  status.reason = "its task is gone from the pack's folder";
  status.may_go_on = true;
  return status;
}

std::string PackedBackend::why_queued(const Pack& pack) const {
  std::string waiting;
  for (const auto& [token, job] : pack.jobs) {
    if (!job.status || job.over()) continue;
    if (job.status->phase == JobPhase::running)
      return "waits for a place in job " + job.files.handle;
    waiting = fmt::format("job {}, which it will share, waits", job.files.handle);
    if (!job.status->reason.empty()) waiting += ": " + job.status->reason;
  }
  if (!waiting.empty()) return waiting;
  return pack.trouble.empty() ? "waits for a job that it can share" : pack.trouble;
}

/// As many as the trials that wait or run can fill, and slurm.pack.jobs allows.
Awaitable<void> PackedBackend::ask_for_jobs(const std::vector<Member>& members) {
  std::map<Pack*, std::pair<int, int>> trials;  // that wait, that are in jobs
  for (const Member& member : members) {
    if (member.place.where == TaskPlace::Where::queue) ++trials[member.pack].first;
    if (member.place.where == TaskPlace::Where::job && !member.place.end)
      ++trials[member.pack].second;
  }
  for (const auto& [pack, count] : trials) {
    const auto [waiting, running] = count;
    if (waiting == 0 || steady_now() < pack->not_before) continue;
    const auto of = disk_.run([folder = pack->folder] { return read_template(folder); });
    if (!of || !is_packed(*of)) continue;
    const int places = of->slurm.pack.trials;
    const int wanted = std::min(of->slurm.pack.jobs, (waiting + running + places - 1) / places);
    while (pack->live() < wanted) {
      const Submission job = co_await add_job(*pack, *of);
      if (job.outcome != SubmitOutcome::accepted) break;
    }
  }
}

/// A job that runs ends by itself when there is nothing to do; one that waits would still get its
/// nodes.
Awaitable<void> PackedBackend::drop_unneeded() {
  for (auto& [folder, pack] : packs_) {
    const bool empty = disk_.run([f = pack.folder] { return pack::tasks_in(f / "queue").empty(); });
    for (auto& [token, job] : pack.jobs) {
      const bool waits = job.status && (job.status->phase == JobPhase::held ||
                                        job.status->phase == JobPhase::queued);
      if (!empty || !waits) {
        job.unneeded = 0;
        continue;
      }
      if (job.unneeded == 0) job.unneeded = steady_now();
      if (steady_now() - job.unneeded < config_.unneeded_s) continue;
      const fs::path of_job = pack::job_folder(pack.folder, token);
      disk_.run([of_job] { pack::write_text(of_job / "withdrawn", ""); });
      job.files.withdrawn = true;
      const TrackedJob unneeded{job.files.handle, token, of_job};
      co_await jobs_->cancel(unneeded, Ending::by_force);
    }
  }
}

/// A job that has ended is asked for until none of the watched attempts was in it.
void PackedBackend::settle_jobs(const std::vector<Member>& members) {
  std::set<std::string> needed;
  std::set<const Pack*> watched;
  for (const Member& member : members) {
    needed.insert(member.place.job);
    watched.insert(member.pack);
  }
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

}  // namespace

std::unique_ptr<Backend> make_packed_backend(std::unique_ptr<Backend> jobs,
                                             const PackedConfig& config) {
  return std::make_unique<PackedBackend>(std::move(jobs), config);
}

}  // namespace thalweg::daemon
