#include "daemon/backend/local.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <chrono>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
#include "base/machine.h"
#include "base/process.h"
#include "base/text.h"
#include "daemon/api/file.h"
#include "daemon/api/messages.h"
#include "daemon/backend/disk.h"
#include "daemon/backend/end_watch.h"
#include "daemon/backend/environment.h"
#include "daemon/backend/local_gpus.h"
#include "daemon/backend/process.h"
#include "jobspec/time_warning.h"

namespace thalweg::daemon {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr double disk_patience_s = 2;
constexpr double half_written_claim_s =
    10;  ///< a claim is written in one go; older and unreadable = its writer died

double gibibytes(std::int64_t mib) {
  return static_cast<double>(mib) / 1024;
}

double modified(const fs::path& file) {
  struct stat info {};
  if (stat(file.c_str(), &info) != 0) return 0;
  return static_cast<double>(info.st_mtim.tv_sec) +
         static_cast<double>(info.st_mtim.tv_nsec) * 1e-9;
}

struct Claim {
  bool is_void = false;
  bool readable = false;
  pid_t pid = 0;
  std::int64_t start_time = 0;
  std::string boot, token;
  std::string gpus;  ///< "0,2"
  double time = 0;
};

std::optional<Claim> read_claim(const fs::path& folder) {
  const fs::path file = folder / "launch.json";
  const auto content = api::read_json_file(file);
  struct stat info {};
  if (!content && lstat(file.c_str(), &info) != 0) return {};
  Claim claim;
  claim.time = modified(file);
  if (!content || !content->is_object()) return claim;
  try {
    claim.is_void = content->value("void", false);
    claim.pid = content->value("pid", 0);
    claim.start_time = content->value("start", std::int64_t{0});
    claim.boot = content->value("boot_id", "");
    claim.token = content->value("token", "");
    claim.gpus = content->value("visible_gpus", "");
    claim.readable = true;
  } catch (const json::exception&) {  // a member of another type: not written by a launcher
  }
  return claim;
}

/// The void fence: true where the attempt never ran and now never will.
bool make_void(const fs::path& folder, const std::string& token) {
  try {
    // A name of its own: the launcher may be creating the same file.
    AtomicFile file(folder / "launch.json", folder / "launch.json.void", 0600);
    file.write(api::json_text({{"void", true}, {"token", token}, {"time", unix_now()}}) + "\n");
    return file.commit_new();
  } catch (const std::system_error& error) {
    // No folder: nothing can run in it.
    return error.code() == std::errc::no_such_file_or_directory;
  }
}

class LocalBackend : public Backend {
 public:
  explicit LocalBackend(LocalBackendConfig config)
      : config_(std::move(config)),
        gpus_(local_gpus(config_.gpus),
              config_.gpu_locks.empty() ? gpu_lock_folder() : config_.gpu_locks),
        disk_(disk_patience_s, config_.before_disk, config_.threads),
        processes_(config_.processes ? config_.processes : std::make_shared<Processes>()),
        boot_(processes_->boot()) {
    if (config_.cores <= 0)
      config_.cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    if (config_.memory_mib <= 0) config_.memory_mib = machine_memory() / (1 << 20);
  }

  std::string name() const override { return "local"; }
  bool on_this_machine() const override { return true; }
  void tell_ends(boost::asio::any_io_executor executor, std::function<void()> call) override {
    ends_.call(std::move(executor), std::move(call));
  }
  double grace_s() const override { return config_.grace_s; }

  bool has_room(const jobspec::Resources& wanted,
                const std::vector<jobspec::Resources>& running) const override {
    std::int64_t cores = cores_of(wanted), gpus = gpus_of(wanted), memory = memory_of(wanted);
    for (const auto& r : running) {
      cores += cores_of(r);
      gpus += gpus_of(r);
      memory += memory_of(r);
    }
    // One that needs more than all cores, and cannot do with fewer, runs alone.
    const bool alone = running.empty() && !wanted.elastic();
    return (alone || cores <= config_.cores) && (gpus_of(wanted) == 0 || gpus <= gpus_.count()) &&
           (memory_of(wanted) == 0 || memory <= config_.memory_mib);
  }

  Awaitable<std::optional<Forecast>> forecast(const LaunchRequest& request) override {
    const jobspec::Resources least = request.resources.at_most(request.resources.required_nodes());
    const auto refused = [](std::string why) {
      Forecast forecast;
      forecast.refused = true;
      forecast.message = std::move(why);
      return std::optional(forecast);
    };
    if (gpus_of(least) > gpus_.count())
      co_return refused(
          fmt::format("it asks for {}, this machine has {} (local.gpus of config.yaml)",
                      count_of(gpus_of(least), "GPU"), gpus_.count()));
    if (memory_of(least) > config_.memory_mib)
      co_return refused(fmt::format(
          "it asks for {:.1f} GiB of memory, this machine has {:.1f} (local.memory of config.yaml)",
          gibibytes(memory_of(least)), gibibytes(config_.memory_mib)));
    co_return std::nullopt;
  }

  Awaitable<Submission> submit(const LaunchRequest& request) override {
    if (const std::string missing = missing_program(request); !missing.empty())
      co_return Submission{SubmitOutcome::retry_later, "", missing};
    co_return Submission{SubmitOutcome::accepted, "local:" + request.token.substr(0, 8), ""};
  }

  Awaitable<bool> release(const LaunchRequest& request, const std::string&) override {
    if (alive_child(request.token)) co_return true;
    awaited_ = missing_program(request);
    if (!awaited_.empty()) co_return false;
    const std::string ranks = std::to_string(processes_of(request));
    const std::string threads = std::to_string(request.resources.threads_per_rank);
    // As Slurm does it: told in time to write a checkpoint, then ended.
    const std::int64_t limit = request.resources.time_limit_s;
    const std::int64_t warning = jobspec::warning_s(limit, request.slurm.signal_before_end_s);
    // Attempts share the machine: cores are counted by has_room, binding would put all on the first
    // ones.
    DetachedProcess launcher{
        {find_program(config_.launch_program), "-n", ranks, "--threads", threads, "--no-bind",
         "--timeout", std::to_string(limit), "--warning", std::to_string(warning), "--folder",
         request.folder.string(), "--token", request.token, "--", find_program(program_of(request)),
         (request.folder / "trial.yaml").string()},
        request.folder,
        request.folder / "stdout.log",
        request.folder / "stderr.log",
        request.environment};
    // Ours until the launcher has them, too, however late the disk lets it start.
    const auto gpus = std::make_shared<GpuLocks::Taken>();
    try {
      if (!take_gpus(request, *gpus, launcher)) {
        awaited_ = fmt::format("waiting for {} that other programs of this user have",
                               count_of(gpus_of(request.resources), "GPU"));
        co_return false;
      }
      const auto start = [launcher, gpus, machine = processes_]() -> std::optional<pid_t> {
        if (fs::exists(launcher.directory / "launch.json")) return {};
        return machine->start(launcher);
      };
      if (const auto pid = disk_.run(start)) {
        children_[request.token] = {*pid};
        watch(request.token, *pid);
      }
    } catch (const std::system_error& error) {
      awaited_ = error.what();
      co_return false;  // no memory or no more processes allowed: asked again later
    } catch (const DiskHangs&) {
      co_return false;  // where it is started after all, its claim will tell
    }
    co_return true;
  }

  std::string awaited() const override { return awaited_; }

  Awaitable<std::optional<std::vector<JobStatus>>> poll(
      const std::vector<TrackedJob>& watched) override {
    std::vector<JobStatus> result;
    for (const TrackedJob& job : watched) {
      try {
        result.push_back(status_of(job));
      } catch (const DiskHangs&) {
        co_return std::nullopt;
      }
      if (result.back().phase == JobPhase::ended || result.back().phase == JobPhase::missing)
        let_go(job.token);
    }
    co_return result;
  }

  Awaitable<bool> cancel(const TrackedJob& job, Ending how) override {
    std::optional<Claim> claim;
    try {
      if (fence(job)) co_return true;
      claim = claim_of(job);
    } catch (const DiskHangs&) {
      co_return false;
    }
    if (!claim || !is_alive(*claim)) co_return true;
    if (how == Ending::gently) {
      processes_->send(claim->pid, SIGTERM);
    } else {
      for (const pid_t pid : members(*claim, job))
        processes_->send(pid, SIGKILL);
    }
    co_return true;
  }

  Awaitable<std::string> describe() override {
    co_return count_of(config_.cores, "core") +
        (gpus_.count() > 0 ? ", " + count_of(gpus_.count(), "GPU") : "");
  }

 private:
  struct Child {
    pid_t pid = 0;
    bool reaped = false;
    int status = 0;
  };

  void watch(const std::string& token, pid_t pid) {
    if (processes_->real()) ends_.add(token, pid);
  }

  // Looks into the folder, on the disk's thread; they throw DiskHangs.
  bool fence(const TrackedJob& job) {
    return disk_.run([folder = job.folder, token = job.token] { return make_void(folder, token); });
  }
  std::optional<Claim> claim_of(const TrackedJob& job) {
    return disk_.run([folder = job.folder] { return read_claim(folder); });
  }

  const std::string& program_of(const LaunchRequest& request) const {
    return request.own_program ? config_.attempt_program : config_.engine_program;
  }

  /// Empty where all are there. One that is away comes back: it is being replaced by another
  /// version.
  std::string missing_program(const LaunchRequest& request) const {
    for (const auto& program : {config_.launch_program, program_of(request)})
      if (find_program(program).empty())
        return program + " is neither beside thalwegd nor in PATH (waiting for it)";
    return "";
  }

  static int processes_of(const LaunchRequest& request) {
    switch (request.launch) {
      case jobspec::LaunchMode::once:
        return 1;
      case jobspec::LaunchMode::per_node:
        return request.resources.nodes;
      case jobspec::LaunchMode::per_rank:
        break;
    }
    return request.resources.ranks();
  }

  static std::int64_t cores_of(const jobspec::Resources& r) {
    return std::int64_t{r.ranks()} * r.threads_per_rank;
  }
  static std::int64_t gpus_of(const jobspec::Resources& r) {
    return std::int64_t{r.nodes} * r.gpus_per_node;
  }
  static std::int64_t memory_of(const jobspec::Resources& r) { return r.nodes * r.memory_mib; }

  /// Who asks for none sees what the submitter saw.
  bool take_gpus(const LaunchRequest& request, GpuLocks::Taken& taken,
                 DetachedProcess& launcher) const {
    const auto wanted = static_cast<int>(gpus_of(request.resources));
    if (wanted == 0) return true;
    auto found = gpus_.take(wanted, request.without_gpus);
    if (!found) return false;
    taken = std::move(*found);
    if (launcher.environment.empty()) launcher.environment = own_environment();
    launcher.environment =
        with_changes(std::move(launcher.environment), {{"CUDA_VISIBLE_DEVICES", taken.visible}});
    launcher.inherited = taken.lock.get();
    return true;
  }

  /// Nothing can be started in it any more, and what was cannot be told.
  static bool is_gone(const fs::path& folder) {
    struct stat info {};
    return stat(folder.c_str(), &info) != 0 &&
           (errno == ENOENT || errno == ENOTDIR || errno == ELOOP);
  }

  bool is_alive(const Claim& claim) const {
    return claim.boot == boot_ && processes_->start_time(claim.pid) == claim.start_time;
  }

  /// What lives of the attempt's session. The launcher's pid may be a stranger's by now, and so may
  /// the session of that number: only what carries our token or folder is ours.
  std::vector<pid_t> members(const Claim& claim, const TrackedJob& job) const {
    std::vector<pid_t> pids;
    if (claim.pid > 0) pids = processes_->members(claim.pid);
    std::erase_if(pids, [&](pid_t pid) { return !processes_->carry(pid, job.token, job.folder); });
    return pids;
  }

  /// Also reaps it, so that it does not stay a zombie.
  bool alive_child(const std::string& token) {
    const auto it = children_.find(token);
    if (it == children_.end()) return false;
    Child& child = it->second;
    if (!child.reaped && processes_->reap(child.pid, child.status)) child.reaped = true;
    return !child.reaped;
  }

  /// Its launcher has written the end and is about to exit: it is waited for, so that it does not
  /// stay a zombie until the next look, which may never come.
  void let_go(const std::string& token) {
    if (alive_child(token)) processes_->reap_later(children_.at(token).pid);
    children_.erase(token);
    seen_running_.erase(token);
    overdue_.erase(token);
    ends_.remove(token);
  }

  /// exit.json of this attempt, if it is there.
  bool read_exit(const TrackedJob& job, JobStatus& status) {
    const auto look = [file = job.folder / "exit.json"] {
      return std::pair(api::read_json_file(file), modified(file));
    };
    const auto [content, time] = disk_.run(look);
    if (!content || !content->is_object() || content->value("token", json()) != job.token)
      return false;
    status.phase = JobPhase::ended;
    status.ended = api::time_from(content->value("time", json()), time);
    try {
      status.signal = content->value("signal", 0);
      if (status.signal == 0) status.exit_code = content->value("code", 0);
      status.timed_out = content->value("timed_out", false);
    } catch (const json::exception&) {  // it has ended, how is not known
    }
    return true;
  }

  JobStatus status_of(const TrackedJob& job) {
    JobStatus status;
    status.handle = job.handle;
    status.token = job.token;
    const bool child = alive_child(job.token);
    const auto claim = claim_of(job);
    if (!claim) return unclaimed(job, child, std::move(status));
    if (claim->is_void) {
      status.reason = "never started";
      return status;
    }
    status.started = claim->time;
    status.phase = JobPhase::running;
    status.node_list = host_;
    status.gpus = gpu_names(claim->gpus);
    if (!claim->readable) {
      // Far in the future as well: the clock was set back since.
      if (std::abs(unix_now() - claim->time) <= half_written_claim_s) return status;
      status.phase = JobPhase::missing;
      status.reason = "its launch.json cannot be read";
      status.may_go_on = true;
      return status;
    }
    if (read_exit(job, status)) return status;
    if (is_alive(*claim)) {
      watch(job.token, claim->pid);
      end_overdue(job, *claim);
      return status;
    }
    if (read_exit(job, status)) return status;  // it may have ended between the two looks
    if (claim->boot != boot_) {
      status.phase = JobPhase::missing;
      status.reason = "the machine was restarted";
      return status;
    }
    // The launcher was killed: its ranks must be gone before anything else may run.
    const auto rest = members(*claim, job);
    for (const pid_t pid : rest)
      processes_->send(pid, SIGKILL);
    if (!rest.empty()) return status;
    status.phase = JobPhase::ended;
    status.ended = unix_now();
    status.reason = "thalweg-launch was killed";
    if (overdue_.count(job.token) > 0) {
      status.reason = "it was stopped, and was still there after its time limit";
      status.timed_out = true;
    }
    return status;
  }

  /// A launcher that somebody stopped (SIGSTOP) keeps no time limit. Since when it runs is counted
  /// from our first look, on a clock that nobody sets and that stands while the machine sleeps.
  void end_overdue(const TrackedJob& job, const Claim& claim) {
    const Clock::time_point since =
        seen_running_.try_emplace(job.token, Clock::now()).first->second;
    const double ran = std::chrono::duration<double>(Clock::now() - since).count();
    const auto limit = static_cast<double>(job.resources.time_limit_s);
    if (limit <= 0 || ran < limit + config_.grace_s + config_.overdue_s) return;
    overdue_.insert(job.token);
    for (const pid_t pid : members(claim, job))
      processes_->send(pid, SIGKILL);
  }

  JobStatus unclaimed(const TrackedJob& job, bool child, JobStatus status) {
    if (!child && is_gone(job.folder)) {
      status.reason = "its folder is gone";
      status.may_go_on = true;
      return status;
    }
    status.phase = child ? JobPhase::queued : JobPhase::held;
    const auto it = children_.find(job.token);
    if (child || it == children_.end()) return status;
    // Our launcher ended without a claim. Fence it, so that the answer is final.
    if (!fence(job)) return status;
    status.phase = JobPhase::ended;
    status.ended = unix_now();
    status.reason = "thalweg-launch ended before it started anything";
    if (WIFEXITED(it->second.status)) status.exit_code = WEXITSTATUS(it->second.status);
    if (WIFSIGNALED(it->second.status)) status.signal = WTERMSIG(it->second.status);
    return status;
  }

  LocalBackendConfig config_;
  GpuLocks gpus_;
  Disk disk_;
  std::shared_ptr<Processes> processes_;
  EndWatch ends_;
  std::string boot_;
  std::string host_ = host_name();
  std::string awaited_;
  std::map<std::string, Child> children_;                  ///< started by this controller, by token
  std::map<std::string, Clock::time_point> seen_running_;  ///< first, by token
  std::set<std::string> overdue_;                          ///< tokens of what was killed as such
};

}  // namespace

std::unique_ptr<Backend> make_local_backend(const LocalBackendConfig& config) {
  return std::make_unique<LocalBackend>(config);
}

}  // namespace thalweg::daemon
