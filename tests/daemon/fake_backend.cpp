#include <utility>  // boost 1.74's awaitable.hpp needs it first

#include "tests/daemon/fake_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <fstream>

#include "daemon/backend/timer.h"

namespace thalweg::test {

using daemon::Awaitable;
using daemon::JobPhase;
using daemon::JobStatus;
using daemon::SubmitOutcome;

namespace {

int lines_in(const std::filesystem::path& file) {
  std::ifstream in(file);
  int count = 0;
  for (std::string line; std::getline(in, line);)
    ++count;
  return count;
}

/// As the engine: a metrics line a step, a checkpoint line, an end record.
void one_step(FakeJob& job, const FakeCluster& cluster) {
  if (job.step == job.resumed)
    write_line(job, fmt::format("\"type\":\"start\",\"format\":1,\"steps\":{},\"resumed_step\":{}",
                                cluster.steps, job.resumed));
  if (std::filesystem::exists(job.folder / "fenced") && job.unfenced-- <= 0) {
    write_line(job, fmt::format("\"type\":\"end\",\"status\":\"fenced\",\"step\":{}", job.step));
    job.phase = JobPhase::ended;
    return;
  }
  ++job.step;
  write_line(
      job,
      fmt::format(
          "\"type\":\"metrics\",\"points\":[[\"train/loss\",{0},{0}.5],[\"val/error\",{0},0.{0}]]",
          job.step));
  write_line(job, fmt::format("\"type\":\"checkpoint\",\"step\":{}", job.step));
  if (cluster.on_step) cluster.on_step(job);
  if (job.phase != JobPhase::running || job.step < cluster.steps) return;
  write_line(job,
             fmt::format("\"type\":\"end\",\"status\":\"finished\",\"step\":{},\"reason\":\"\"",
                         job.step));
  if (job.lingers) return;
  job.phase = JobPhase::ended;
  job.exit_code = 0;
}

/// Its engine has ended, its job has not.
bool is_done(const FakeJob& job, const FakeCluster& cluster) {
  return job.lingers && job.step >= cluster.steps;
}

class FakeBackend : public daemon::Backend {
 public:
  explicit FakeBackend(FakeCluster& cluster) : cluster_(cluster) {}
  std::string name() const override { return "fake"; }

  bool has_room(const jobspec::Resources& wanted,
                const std::vector<jobspec::Resources>& running) const override {
    ++cluster_.room_asked;
    int nodes = wanted.nodes;
    for (const auto& one : running)
      nodes += one.nodes;
    if (cluster_.nodes > 0 && nodes > cluster_.nodes) return false;
    return static_cast<int>(running.size()) < cluster_.room;
  }

  Awaitable<daemon::Submission> submit(const daemon::LaunchRequest& request) override {
    cluster_.submissions.push_back(request.id.to_string());
    const SubmitOutcome outcome =
        cluster_.on_submit ? cluster_.on_submit(request) : SubmitOutcome::accepted;
    const std::string handle = std::to_string(cluster_.next_handle++);
    // `unknown` is the case of an answer that was lost: the job is there.
    if (outcome == SubmitOutcome::accepted || outcome == SubmitOutcome::unknown)
      cluster_.jobs[handle] = {
          handle, request.token, request.folder, request.id, JobPhase::held, 0, 0, false, {}, 0};
    cluster_.jobs[handle].user = request.identity ? request.identity->uid : 0;
    note("submit", request.identity);
    co_await take_time(request.identity);
    const bool told = outcome == SubmitOutcome::accepted;
    co_return daemon::Submission{outcome, told ? handle : "", told ? "" : "as scripted"};
  }

  std::string script(const daemon::LaunchRequest&) const override { return cluster_.script; }

  Awaitable<std::optional<daemon::Forecast>> forecast(
      const daemon::LaunchRequest& request) override {
    if (!cluster_.on_forecast) co_return std::nullopt;
    co_return cluster_.on_forecast(request);
  }

  Awaitable<daemon::Preparation> prepare(const daemon::LaunchRequest& request,
                                         const std::map<std::string, std::string>& files) override {
    note("prepare", request.identity);
    co_await take_time(request.identity);
    daemon::Preparation made{true, false, ""};
    if (cluster_.on_prepare) made = cluster_.on_prepare(request);
    if (!made.done) co_return made;
    std::filesystem::create_directory(request.folder);  // its parents are the controller's to make
    for (const auto& [name, text] : files)
      std::ofstream(request.folder / name) << text;
    co_return made;
  }

  Awaitable<daemon::Emptying> empty(const daemon::Identity& identity,
                                    const std::vector<std::filesystem::path>& folders) override {
    note("empty", identity);
    co_await take_time(identity);
    daemon::Emptying emptying;
    emptying.message = "not here";
    if (cluster_.on_empty) emptying = cluster_.on_empty(folders);
    co_return emptying;
  }

  bool on_this_machine() const override { return cluster_.here; }

  Awaitable<daemon::Authorization> authorize(const std::string& credential,
                                             const std::string& digest) override {
    daemon::Authorization answer;
    const auto word = cluster_.words.extract(credential);
    if (word && digest.size() == 64) {
      answer.identity = word.mapped();
      answer.user = std::to_string(word.mapped().uid);
    } else {
      answer.message = "the credential proves nothing";
    }
    co_return answer;
  }
  Awaitable<bool> revoke(const std::string& grant) override {
    cluster_.on_behalf.push_back("revoke " + grant);
    co_return true;
  }

  Awaitable<bool> release(const daemon::LaunchRequest& request,
                          const std::string& handle) override {
    note("release", request.identity);
    co_await take_time(request.identity);
    const auto it = cluster_.jobs.find(handle);
    if (it == cluster_.jobs.end() || !cluster_.reachable) co_return false;
    if (it->second.phase == JobPhase::held) {
      it->second.phase = JobPhase::running;
      ++it->second.runs;
      if (cluster_.on_release) cluster_.on_release(it->second);
    }
    co_return true;
  }

  Awaitable<std::optional<std::vector<JobStatus>>> poll(
      const std::vector<TrackedJob>& watched) override {
    if (!cluster_.reachable) co_return std::nullopt;
    ++cluster_.looks;
    cluster_.work();
    std::vector<JobStatus> result;
    for (const auto& [handle, job] : cluster_.jobs) {
      if (job.forgotten) continue;
      JobStatus status;
      status.handle = handle;
      status.token = token_of(job);
      status.folder = job.folder;
      status.phase = job.phase;
      status.held_by_hand = job.held_by_hand;
      status.exit_code = job.exit_code;
      status.cancelled = job.cancelled;
      status.node_list = job.node;
      status.gpus = job.gpus;
      status.job_step = job.job_step;
      status.nodes = job.nodes;
      status.node_failed = job.node_failed;
      status.started = job.started;
      status.ended = job.ended;
      status.warned = job.warned;
      status.user = job.user;
      result.push_back(status);
    }
    for (const auto& want : watched)
      if (const auto job = cluster_.jobs.find(want.handle);
          job == cluster_.jobs.end() || job->second.forgotten) {
        JobStatus status;
        status.reason = "the cluster has forgotten it";
        status.may_go_on = cluster_.may_go_on;
        status.handle = want.handle;
        status.token = want.token;
        result.push_back(status);
      }
    co_return result;
  }

  void tell_ends(boost::asio::any_io_executor, std::function<void()> call) override {
    cluster_.tell_end = std::move(call);
  }
  double grace_s() const override { return 5; }
  Awaitable<bool> cancel(const TrackedJob& watched, daemon::Ending how) override {
    note("cancel", watched.identity);
    co_await take_time(watched.identity);
    const auto it = cluster_.jobs.find(watched.handle);
    if (it == cluster_.jobs.end()) co_return true;
    FakeJob& job = it->second;
    const bool same_folder = token_of(job).empty() && job.folder == watched.folder;
    if (job.token != watched.token && !same_folder) co_return true;
    ++job.cancels;
    job.killed = how == daemon::Ending::by_force;
    if (job.deaf) co_return true;
    if (job.phase == JobPhase::running && !is_done(job, cluster_) && !job.mute)
      write_line(
          job,
          fmt::format("\"type\":\"end\",\"status\":\"stopped\",\"step\":{},\"reason\":\"signal\"",
                      job.step));
    if (job.phase != JobPhase::ended) {
      job.exit_code = 75;
      job.cancelled = true;
    }
    job.phase = JobPhase::ended;
    co_return true;
  }

  Awaitable<std::string> describe() override { co_return "a fake"; }

 private:
  /// What its comment tells.
  std::string token_of(const FakeJob& job) const {
    return cluster_.comments_changed && job.phase == JobPhase::held ? "" : job.token;
  }

  Awaitable<void> take_time(std::optional<daemon::Identity> identity) {
    const double wanted = identity && cluster_.call_s ? cluster_.call_s(identity->uid) : 0;
    if (wanted <= 0) co_return;
    FakeCluster& cluster = cluster_;  // it outlives the backend
    int& calling = ++cluster.calling[identity->uid];
    cluster.max_calling = std::max(cluster.max_calling, calling);
    daemon::Timer timer(co_await boost::asio::this_coro::executor);
    timer.expires_after(
        std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(wanted)));
    co_await timer.async_wait(boost::asio::use_awaitable);
    --calling;
  }
  void note(const char* what, const std::optional<daemon::Identity>& identity) {
    if (identity)
      cluster_.on_behalf.push_back(std::string(what) + " " + std::to_string(identity->uid) + " " +
                                   identity->grant);
  }
  FakeCluster& cluster_;
};

}  // namespace

void write_line(FakeJob& job, const std::string& keys) {
  const auto file = job.folder / "journal.jsonl";
  const int n = lines_in(file) + 1;
  std::ofstream(file, std::ios::app)
      << fmt::format("{{\"n\":{},\"t\":{}.5,{}}}\n", n, 1000 + n, keys);
}

void FakeCluster::work() {
  for (auto& [handle, job] : jobs)
    for (int i = 0; i < steps_per_poll; ++i)
      if (job.phase == JobPhase::running && !job.mute && !is_done(job, *this)) one_step(job, *this);
}

FakeJob* FakeCluster::job_of(const std::string& attempt_id) {
  for (auto& [handle, job] : jobs)
    if (job.id.to_string() == attempt_id) return &job;
  return nullptr;
}

std::unique_ptr<daemon::Backend> FakeCluster::backend() {
  return std::make_unique<FakeBackend>(*this);
}

}  // namespace thalweg::test
