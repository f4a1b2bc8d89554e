#include "daemon/backend/slurm.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "daemon/backend/environment.h"
#include "daemon/backend/slurm_agent_link.h"
#include "daemon/backend/slurm_request.h"
#include "daemon/backend/slurm_script.h"
#include "daemon/backend/slurm_status.h"

namespace thalweg::daemon {
namespace {

using nlohmann::json;
using Clock = AgentLink::Clock;
using Statuses = std::vector<JobStatus>;

Clock::duration seconds(double s) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(s));
}

std::uint32_t job_number(const std::string& handle) {
  std::uint32_t number = 0;
  std::from_chars(handle.data(), handle.data() + handle.size(), number);
  return number;  // 0 is no job
}

SubmitOutcome submit_outcome(const std::string& outcome) {
  if (outcome == "refused" || outcome == "bad_request") return SubmitOutcome::refused;
  if (outcome == "retry_later" || outcome == "no_slurm") return SubmitOutcome::retry_later;
  return SubmitOutcome::unknown;
}

json request_question(const char* verb, const LaunchRequest& request, const std::string& script,
                      const std::vector<std::string>& environment) {
  return {{"verb", verb},
          {"script", script},
          {"options", slurm_request(request)},
          {"environment", environment}};
}

/// As json::value, but where the member is of another type, too (an agent of another version).
template <class T>
T part(const json& answer, const char* key, T otherwise) {
  try {
    return answer.value(key, otherwise);
  } catch (const json::exception&) {
    return otherwise;
  }
}

std::string part(const json& answer, const char* key, const char* otherwise) {
  return part(answer, key, std::string(otherwise));
}

json job_question(const char* verb, const std::string& handle, const std::string& token,
                  const std::filesystem::path& folder) {
  return {
      {"verb", verb}, {"job", job_number(handle)}, {"token", token}, {"folder", folder.string()}};
}

/// A job whose comment somebody changed is still the one that was submitted.
void recognize(JobStatus& status, const Backend::Watched& job) {
  if (status.token == job.token) return;
  status.token = job.token;
  status.changed = true;
  status.held_by_hand = status.phase == JobPhase::held;  // who changes comments may hold, too
}

/// Slurm does not tell whether it has sent the warning; the time that the job ran does.
bool was_warned(const JobStatus& status, const Backend::Watched& job) {
  const std::int64_t earliest_s = earliest_warning_s(job.resources, job.signal_before_end_s);
  return status.started > 0 && earliest_s > 0 &&
         status.ended - status.started >= static_cast<double>(earliest_s);
}

/// Does the work; its coroutines keep it alive when the backend goes while they wait.
class SlurmClient : public std::enable_shared_from_this<SlurmClient> {
 public:
  SlurmClient(boost::asio::any_io_executor executor, SlurmBackendConfig config)
      : config_(std::move(config)),
        environment_(config_.environment.empty() ? job_environment(own_environment())
                                                 : config_.environment),
        link_(std::make_shared<AgentLink>(std::move(executor),
                                          std::vector<std::string>{config_.agent_program})) {}

  std::string script(const LaunchRequest& request) const {
    return batch_script({request, config_.srun, config_.train_program});
  }
  Awaitable<Submission> submit(const LaunchRequest& request);
  Awaitable<std::optional<Forecast>> forecast(const LaunchRequest& request);
  Awaitable<bool> release(const LaunchRequest& request, const std::string& handle);
  Awaitable<std::optional<Statuses>> poll(const std::vector<Backend::Watched>& watched);
  Awaitable<bool> cancel(const Backend::Watched& job);
  Awaitable<std::string> describe();
  void close() { link_->close(); }

 private:
  Awaitable<AgentLink::Reply> ask(json question);
  Awaitable<bool> refresh();
  void changed() {
    ++changes_;
    fresh_until_ = {};
  }
  Awaitable<bool> add_unlisted(const Backend::Watched& job, Statuses& statuses);
  const std::vector<std::string>& environment_of(const LaunchRequest& request) const {
    return request.environment.empty() ? environment_ : request.environment;
  }

  SlurmBackendConfig config_;
  std::vector<std::string> environment_;
  std::shared_ptr<AgentLink> link_;
  Statuses listing_;
  std::uint64_t stamp_ = 0;        ///< of listing_, in the agent's words; 0 = no listing
  Clock::time_point fresh_until_;  ///< listing_ may be used again until then
  unsigned changes_ = 0;           ///< counts what we did that a listing may not show yet
  /// When jobs (handle and token) were last asked to end.
  std::map<std::pair<std::string, std::string>, Clock::time_point> ending_;
};

Awaitable<AgentLink::Reply> SlurmClient::ask(json question) {
  co_return co_await link_->ask(std::move(question), seconds(config_.request_timeout_s));
}

Awaitable<Submission> SlurmClient::submit(const LaunchRequest& request) {
  const auto self = shared_from_this();
  changed();
  json question = request_question("submit", request, script(request), environment_of(request));
  question["token"] = request.token;
  const auto reply = co_await ask(std::move(question));
  Submission submission;
  if (!reply.answer) {
    submission.outcome = reply.sent ? SubmitOutcome::unknown : SubmitOutcome::retry_later;
    submission.message = reply.problem;
  } else if (const auto number = part(*reply.answer, "job", std::uint32_t{0});
             part(*reply.answer, "ok", false)) {
    submission.outcome = number != 0 ? SubmitOutcome::accepted : SubmitOutcome::unknown;
    submission.handle = std::to_string(number);
    submission.message = part(*reply.answer, "note", "");
  } else {
    submission.outcome = submit_outcome(part(*reply.answer, "outcome", ""));
    submission.message = part(*reply.answer, "message", "");
  }
  co_return submission;
}

Awaitable<std::optional<Forecast>> SlurmClient::forecast(const LaunchRequest& request) {
  const auto self = shared_from_this();
  json question = request_question("will_run", request, script(request), environment_of(request));
  const auto reply = co_await ask(std::move(question));
  Forecast forecast;
  if (!reply.answer) {
    forecast.message = reply.problem;
  } else if (reply.answer->value("ok", false)) {
    forecast.start = reply.answer->value("start", 0.0);
    forecast.node_list = reply.answer->value("nodes", "");
    forecast.partition = reply.answer->value("partition", "");
  } else {
    const std::string outcome = reply.answer->value("outcome", "");
    forecast.refused = outcome == "refused";
    forecast.message = reply.answer->value("message", "");
  }
  co_return forecast;
}

Awaitable<bool> SlurmClient::release(const LaunchRequest& request, const std::string& handle) {
  const auto self = shared_from_this();
  changed();
  json question = job_question("release", handle, request.token, request.folder);
  const auto reply = co_await ask(std::move(question));
  if (!reply.answer) co_return false;
  // An ended job needs no release; the next poll shows how it ended.
  co_return part(*reply.answer, "ok", false) || part(*reply.answer, "outcome", "") == "finished";
}

// One request for all jobs, and none at all while the last answer is young: see listing_share.
Awaitable<bool> SlurmClient::refresh() {
  const auto begin = Clock::now();
  const unsigned changes = changes_;
  if (stamp_ != 0 && begin < fresh_until_) co_return true;
  json question{{"verb", "poll"}};
  if (stamp_ != 0) question["since"] = stamp_;
  const auto reply = co_await ask(std::move(question));
  if (!reply.answer || !part(*reply.answer, "ok", false)) co_return false;
  const json& answer = *reply.answer;
  if (!part(answer, "unchanged", false)) {
    Statuses fresh;
    for (const json& job : answer.at("jobs"))
      fresh.push_back(slurm_status(job));
    listing_ = std::move(fresh);
  }
  stamp_ = answer.at("stamp");
  const auto now = Clock::now();
  const double took_s = std::chrono::duration<double>(now - begin).count();
  const double reuse_s = std::min(took_s / config_.listing_share, config_.longest_reuse_s);
  if (changes == changes_) fresh_until_ = now + seconds(reuse_s);
  co_return true;
}

// A watched job that the listing lacks is asked for by its number before it counts as missing.
Awaitable<bool> SlurmClient::add_unlisted(const Backend::Watched& job, Statuses& statuses) {
  json question = job_question("job", job.handle, job.token, job.folder);
  const auto reply = co_await ask(std::move(question));
  if (!reply.answer) co_return false;
  if (part(*reply.answer, "ok", false)) {
    statuses.push_back(slurm_status(reply.answer->at("job")));
    recognize(statuses.back(), job);
    co_return true;
  }
  if (part(*reply.answer, "outcome", "") != "missing") co_return false;
  JobStatus missing;
  missing.handle = job.handle;
  missing.token = job.token;
  missing.reason = "Slurm has forgotten it";
  missing.may_go_on = true;  // slurmctld comes back from a crash with an older state
  statuses.push_back(missing);
  co_return true;
}

Awaitable<std::optional<Statuses>> SlurmClient::poll(const std::vector<Backend::Watched>& watched) {
  const auto self = shared_from_this();
  try {
    if (!co_await refresh()) co_return std::nullopt;
    Statuses statuses = listing_;
    std::set<std::pair<std::string, std::string>> listed;
    for (const JobStatus& status : statuses)
      listed.emplace(status.handle, status.token);
    std::map<std::pair<std::string, std::string>, const Backend::Watched*> ours;
    for (const Backend::Watched& job : watched) {
      ours[{job.handle, job.token}] = &job;
      if (listed.count({job.handle, job.token}) > 0) continue;
      const auto same = std::find_if(statuses.begin(), statuses.end(), [&](const JobStatus& s) {
        return s.handle == job.handle && s.token.empty() && !job.folder.empty() &&
               s.folder == job.folder;
      });
      if (same != statuses.end()) {
        recognize(*same, job);
        continue;
      }
      if (!co_await add_unlisted(job, statuses)) co_return std::nullopt;
    }
    for (JobStatus& status : statuses) {
      const std::pair key{status.handle, status.token};
      if (status.phase == JobPhase::ended || status.phase == JobPhase::missing) ending_.erase(key);
      const auto own = ours.find(key);
      if (status.phase == JobPhase::ended && own != ours.end())
        status.warned = was_warned(status, *own->second);
    }
    co_return statuses;
  } catch (const json::exception&) {  // an agent of another version
    stamp_ = 0;
    co_return std::nullopt;
  }
}

// First SIGTERM to the ranks, so that they write a checkpoint; when asked again after the grace
// time, the end.
Awaitable<bool> SlurmClient::cancel(const Backend::Watched& job) {
  const auto self = shared_from_this();
  changed();
  const std::pair key{job.handle, job.token};
  const auto now = Clock::now();
  const auto ending = ending_.find(key);
  const bool asked = ending != ending_.end();
  const bool kill = asked && now - ending->second >= seconds(config_.cancel_grace_s);
  if (asked && !kill) co_return true;  // it has its time
  json question = job_question("cancel", job.handle, job.token, job.folder);
  question["signal"] = kill ? "KILL" : "TERM";
  const auto reply = co_await ask(std::move(question));
  if (!reply.answer) co_return false;
  if (!part(*reply.answer, "ok", false)) {
    const std::string outcome = part(*reply.answer, "outcome", "");
    if (outcome != "missing" && outcome != "finished") co_return false;
    ending_.erase(key);
    co_return true;
  }
  ending_[key] = now;  // asked again much later, it is killed again
  co_return true;
}

Awaitable<std::string> SlurmClient::describe() {
  const auto self = shared_from_this();
  json question{{"verb", "hello"}};
  const auto hello = co_await ask(std::move(question));
  if (!hello.answer) co_return hello.sent ? "slurm: " + hello.problem : "";
  if (!part(*hello.answer, "ok", false)) {
    if (part(*hello.answer, "outcome", "") == "no_slurm") co_return "";
    co_return "slurm: " + part(*hello.answer, "message", "");
  }
  std::string text = "slurm " + part(*hello.answer, "version", "") + ", cluster " +
                     part(*hello.answer, "cluster", "");
  question = json{{"verb", "nodes"}};
  const auto nodes = co_await ask(std::move(question));
  if (!nodes.answer || !part(*nodes.answer, "ok", false)) co_return text;
  const int total = part(*nodes.answer, "total", 0);
  const int usable = part(*nodes.answer, "usable", 0);
  text += ", " + std::to_string(total) + (total == 1 ? " node" : " nodes");
  if (usable < total) text += " (" + std::to_string(usable) + " usable)";
  co_return text;
}

class SlurmBackend final : public Backend {
 public:
  SlurmBackend(std::shared_ptr<SlurmClient> client, int max_jobs)
      : client_(std::move(client)), max_jobs_(max_jobs) {}
  ~SlurmBackend() override { client_->close(); }

  std::string name() const override { return "slurm"; }
  // Slurm queues whatever does not fit yet; a site may want shorter queues.
  bool has_room(const jobspec::Resources&,
                const std::vector<jobspec::Resources>& running) const override {
    return max_jobs_ == 0 || running.size() < static_cast<std::size_t>(max_jobs_);
  }
  Awaitable<Submission> submit(const LaunchRequest& request) override {
    return client_->submit(request);
  }
  std::string script(const LaunchRequest& request) const override {
    return client_->script(request);
  }
  Awaitable<std::optional<Forecast>> forecast(const LaunchRequest& request) override {
    return client_->forecast(request);
  }
  Awaitable<bool> release(const LaunchRequest& request, const std::string& handle) override {
    return client_->release(request, handle);
  }
  Awaitable<std::optional<Statuses>> poll(const std::vector<Watched>& watched) override {
    return client_->poll(watched);
  }
  Awaitable<bool> cancel(const Watched& job) override { return client_->cancel(job); }
  Awaitable<std::string> describe() override { return client_->describe(); }

 private:
  std::shared_ptr<SlurmClient> client_;
  int max_jobs_;
};

}  // namespace

std::unique_ptr<Backend> make_slurm_backend(boost::asio::any_io_executor executor,
                                            const SlurmBackendConfig& config) {
  return std::make_unique<SlurmBackend>(std::make_shared<SlurmClient>(std::move(executor), config),
                                        config.max_jobs);
}

}  // namespace thalweg::daemon
