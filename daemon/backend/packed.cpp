// A look: first what the other backend says of the packs' jobs, then where each attempt's task is,
// since a task that is in no job when its job ended never ran. Only then jobs are asked for. What
// is kept in memory can all be lost: files and the other backend tell it again.
#include "daemon/backend/packed.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <system_error>

#include "daemon/backend/disk.h"
#include "daemon/backend/packed_files.h"
#include "daemon/backend/packed_jobs.h"
#include "daemon/backend/packed_judge.h"
#include "daemon/backend/slurm_script.h"
#include "jobspec/time_warning.h"

namespace thalweg::daemon {

namespace fs = std::filesystem;

namespace {

using Statuses = std::vector<JobStatus>;

/// A watched attempt.
struct Member {
  Backend::TrackedJob attempt;
  PackHandle handle;
  PackOfTrials* pack = nullptr;
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

class PackedBackend final : public Backend {
 public:
  PackedBackend(std::unique_ptr<Backend> jobs, PackedConfig config)
      : jobs_(std::move(jobs)), config_(std::move(config)), packs_(*jobs_, disk_, config_) {}

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
  /// A dry run shows the job's script, which stands in the job's folder; attempts have none.
  std::string script(const LaunchRequest& request) const override {
    if (!is_packed(request)) return jobs_->script(request);
    return request.id.sweep == 0 ? jobs_->script(example_of(request)) : "";
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
  LaunchRequest example_of(const LaunchRequest& request) const {
    const fs::path folder = pack_folder(request.folder, pack_handle(request).hash);
    return packs_.request(request, "", folder / "jobs" / "<token>");
  }
  void find_tasks(std::vector<Member>& members);
  void share_ends(std::vector<Member>& members);
  JobStatus status_of(const Member& member);
  JobStatus lost_sight_of(const Member& member, JobStatus status);
  Awaitable<void> look_after_jobs(const std::vector<Member>& members);

  std::unique_ptr<Backend> jobs_;
  PackedConfig config_;
  Disk disk_;
  PackJobs packs_;
  /// What was seen of attempts that are watched, by handle.
  struct Seen {
    std::string job;          ///< token
    JobStatus status;         ///< the last one
    double hidden_since = 0;  ///< its task was not found since
  };
  std::map<std::string, Seen> seen_;
};

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
  PackOfTrials& pack = packs_.pack_of(folder);
  if (pack.live() == 0 && pack_clock() >= pack.not_before) {
    const Submission job = co_await packs_.add(pack, request);
    if (job.outcome == SubmitOutcome::refused || job.outcome == SubmitOutcome::retry_later)
      co_return Submission{job.outcome, "", job.message};
  }
  co_return Submission{SubmitOutcome::accepted, handle.text(), ""};
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
  task.command = shared_step({step, config_.srun, config_.programs.of(request)});
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
        members.push_back({job, *own, &packs_.pack_of(pack_folder(job.folder, own->hash))});
      else
        plain.push_back(job);
    }
    std::vector<TrackedJob> asked = plain;
    packs_.track(asked);
    auto statuses = co_await jobs_->poll(asked);
    if (!statuses) co_return std::nullopt;
    packs_.take(*statuses, plain);
    find_tasks(members);
    share_ends(members);
    std::map<std::string, Seen> seen;
    for (const Member& member : members) {
      statuses->push_back(status_of(member));
      if (statuses->back().phase == JobPhase::held) continue;
      seen[member.attempt.handle] = {member.place.job, statuses->back(),
                                     seen_[member.attempt.handle].hidden_since};
    }
    seen_ = std::move(seen);
    co_await look_after_jobs(members);
    co_return statuses;
  } catch (const std::system_error&) {
  } catch (const DiskHangs&) {
  }
  co_return std::nullopt;
}

Awaitable<void> PackedBackend::look_after_jobs(const std::vector<Member>& members) {
  std::set<std::string> needed;
  std::set<const PackOfTrials*> watched;
  std::map<PackOfTrials*, PackJobs::Trials> trials;
  for (const Member& member : members) {
    needed.insert(member.place.job);
    watched.insert(member.pack);
    PackJobs::Trials& count = trials[member.pack];
    if (member.place.where == TaskPlace::Where::queue) ++count.waiting;
    if (member.place.where == TaskPlace::Where::job && !member.place.end) ++count.in_jobs;
  }
  packs_.settle_ended(needed, watched);
  co_await packs_.look_after();
  co_await packs_.ask_for_more(trials);
  co_await packs_.drop_unneeded();
}

void PackedBackend::find_tasks(std::vector<Member>& members) {
  for (Member& member : members) {
    std::vector<std::string> jobs;
    const auto before = seen_.find(member.attempt.handle);
    if (before != seen_.end() && !before->second.job.empty()) jobs.push_back(before->second.job);
    for (const auto& [token, job] : member.pack->jobs)
      if (jobs.empty() || token != jobs.front()) jobs.push_back(token);
    member.place = disk_.run([folder = member.pack->folder, name = member.handle.name, jobs,
                              known = before != seen_.end()] {
      TaskPlace place = find_task(folder, name, jobs);
      if (known && place.where == TaskPlace::Where::nowhere)
        place = find_task_anywhere(folder, name);
      return place;
    });
  }
}

void PackedBackend::share_ends(std::vector<Member>& members) {
  for (auto& [folder, pack] : packs_.packs()) {
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
      status.reason = member.pack->why_queued();
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
  if (seen.hidden_since == 0) seen.hidden_since = pack_clock();
  const bool ran = seen.status.phase == JobPhase::running;
  if (pack_clock() - seen.hidden_since < config_.hidden_s) {
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

}  // namespace

std::unique_ptr<Backend> make_packed_backend(std::unique_ptr<Backend> jobs,
                                             const PackedConfig& config) {
  return std::make_unique<PackedBackend>(std::move(jobs), config);
}

}  // namespace thalweg::daemon
