#include "daemon/backend/slurm.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <set>

#include "base/process.h"
#include "daemon/backend/environment.h"
#include "daemon/backend/slurm_agent_link.h"
#include "daemon/backend/slurm_request.h"
#include "daemon/backend/slurm_script.h"
#include "daemon/backend/slurm_status.h"
#include "daemon/slurm_agent/messages.h"

namespace thalweg::daemon {
namespace {

using slurm_agent::Outcome;
using Statuses = std::vector<JobStatus>;
using api::Reading;

Clock::duration seconds(double s) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(s));
}

std::uint32_t job_number(const std::string& handle) {
  std::uint32_t number = 0;
  std::from_chars(handle.data(), handle.data() + handle.size(), number);
  return number;  // 0 is no job
}

SubmitOutcome submit_outcome(Outcome outcome) {
  if (outcome == Outcome::refused || outcome == Outcome::bad_request) return SubmitOutcome::refused;
  if (outcome == Outcome::retry_later || outcome == Outcome::no_slurm)
    return SubmitOutcome::retry_later;
  return SubmitOutcome::unknown;
}

std::shared_ptr<SlurmAgent> make_link(boost::asio::any_io_executor executor,
                                      const SlurmBackendConfig& config) {
  if (!config.agent_socket.empty())
    return std::make_shared<AgentLink>(std::move(executor),
                                       AgentLink::Service{config.agent_socket});
  return std::make_shared<AgentLink>(std::move(executor),
                                     std::vector<std::string>{config.agent_program});
}

std::optional<slurm_agent::As> on_behalf_of(const std::optional<Identity>& identity) {
  if (!identity) return {};
  return slurm_agent::As{identity->uid, identity->grant};
}

template <class Question>
Question about_job(const std::string& handle, const std::string& token,
                   const std::filesystem::path& folder, const std::optional<Identity>& identity) {
  Question question;
  question.as = on_behalf_of(identity);
  question.job = job_number(handle);
  question.token = token;
  question.folder = folder.string();
  return question;
}

/// An answer, or why there is none.
template <class T>
struct Told {
  std::optional<T> answer;
  slurm_agent::Failure failure;
  bool sent = true;  ///< false: the agent never saw the question
  bool never_answered = false;

  bool is(Outcome outcome) const { return !answer && failure.outcome == outcome; }
};

bool has_slurm_commands() {
  return std::getenv("SLURM_CONF") != nullptr || !find_program("sbatch").empty();
}

/// Does the work; its coroutines keep it alive when the backend goes while they wait.
class SlurmClient : public std::enable_shared_from_this<SlurmClient> {
 public:
  SlurmClient(std::shared_ptr<SlurmAgent> agent, SlurmBackendConfig config)
      : config_(std::move(config)),
        environment_(config_.environment.empty() ? job_environment(own_environment())
                                                 : config_.environment),
        agent_(std::move(agent)) {}

  std::string script(const LaunchRequest& request) const {
    return batch_script({request, config_.srun, config_.programs.of(request)});
  }
  Awaitable<Submission> submit(const LaunchRequest& request);
  Awaitable<std::optional<Forecast>> forecast(const LaunchRequest& request);
  Awaitable<bool> release(const LaunchRequest& request, const std::string& handle);
  Awaitable<std::optional<Statuses>> poll(const std::vector<Backend::TrackedJob>& watched);
  Awaitable<bool> cancel(const Backend::TrackedJob& job, Ending how);
  Awaitable<Authorization> authorize(const std::string& credential, const std::string& digest);
  Awaitable<bool> revoke(const std::string& grant);
  Awaitable<Preparation> prepare(const LaunchRequest& request,
                                 const std::map<std::string, std::string>& files);
  Awaitable<Emptying> empty(const Identity& identity,
                            const std::vector<std::filesystem::path>& folders);
  Awaitable<std::string> describe();
  void close() { agent_->close(); }
  std::optional<CredentialReader> credential_reader() const { return credential_reader_; }
  double age_s() const { return age_s_; }

 private:
  /// Strict reading: an answer that lacks something is none, and its outcome unknown.
  template <class Question>
  Awaitable<Told<typename Question::Answer>> ask(Question question, Reading reading);
  void add_request(const LaunchRequest& request, slurm_agent::JobRequest& question) const;
  Awaitable<bool> refresh();
  void changed() {
    ++changes_;
    fresh_until_ = {};
  }
  Awaitable<bool> add_unlisted(const Backend::TrackedJob& job, Statuses& statuses);

  SlurmBackendConfig config_;
  std::vector<std::string> environment_;
  std::shared_ptr<SlurmAgent> agent_;
  std::optional<CredentialReader> credential_reader_;  ///< a site's agent's user
  Statuses listing_;
  std::uint64_t stamp_ = 0;        ///< of listing_, in the agent's words; 0 = no listing
  Clock::time_point fresh_until_;  ///< listing_ may be used again until then
  Clock::time_point listed_{};     ///< when listing_ was asked for
  double age_s_ = 0;               ///< of the listing that the last poll() used
  unsigned changes_ = 0;           ///< counts what we did that a listing may not show yet
};

template <class Question>
Awaitable<Told<typename Question::Answer>> SlurmClient::ask(Question question, Reading reading) {
  auto line = slurm_agent::question_json(question);
  const auto reply = co_await agent_->ask(std::move(line), seconds(config_.request_timeout_s));
  Told<typename Question::Answer> told;
  told.sent = reply.sent;
  told.never_answered = reply.never_answered;
  if (!reply.answer) {
    told.failure.outcome = reply.sent ? Outcome::unknown : Outcome::retry_later;
    told.failure.message = reply.problem;
    co_return told;
  }
  try {
    auto result = slurm_agent::read_answer<typename Question::Answer>(*reply.answer, reading);
    if (auto* answer = std::get_if<typename Question::Answer>(&result))
      told.answer = std::move(*answer);
    else
      told.failure = std::get<slurm_agent::Failure>(std::move(result));
  } catch (const std::invalid_argument& error) {
    told.failure.message = std::string("the Slurm agent is of another version: ") + error.what();
  }
  co_return told;
}

void SlurmClient::add_request(const LaunchRequest& request,
                              slurm_agent::JobRequest& question) const {
  question.script = script(request);
  question.options = slurm_request(request);
  // Another user's job has nothing of the controller's environment.
  const bool own = request.environment.empty() && !request.identity;
  question.environment = own ? environment_ : request.environment;
  question.as = on_behalf_of(request.identity);
  // In place of sbatch, which would say so to Slurm's batch step.
  if (request.identity) question.environment.push_back("SLURM_UMASK=0007");
}

Awaitable<Submission> SlurmClient::submit(const LaunchRequest& request) {
  const auto self = shared_from_this();
  changed();
  slurm_agent::Submit question;
  add_request(request, question);
  question.token = request.token;
  const auto told = co_await ask(std::move(question), Reading::tolerant);
  if (!told.answer)
    co_return Submission{submit_outcome(told.failure.outcome), "", told.failure.message};
  const std::uint32_t job = told.answer->job;
  co_return Submission{job != 0 ? SubmitOutcome::accepted : SubmitOutcome::unknown,
                       std::to_string(job), told.answer->note};
}

Awaitable<std::optional<Forecast>> SlurmClient::forecast(const LaunchRequest& request) {
  const auto self = shared_from_this();
  slurm_agent::WillRun question;
  add_request(request, question);
  const auto told = co_await ask(std::move(question), Reading::tolerant);
  Forecast forecast;
  if (told.answer) {
    forecast.start = static_cast<double>(told.answer->start);
    forecast.node_list = told.answer->nodes;
    forecast.partition = told.answer->partition;
  } else {
    forecast.refused = told.is(Outcome::refused);
    forecast.message = told.failure.message;
  }
  co_return forecast;
}

Awaitable<bool> SlurmClient::release(const LaunchRequest& request, const std::string& handle) {
  const auto self = shared_from_this();
  changed();
  auto question =
      about_job<slurm_agent::Release>(handle, request.token, request.folder, request.identity);
  const auto told = co_await ask(std::move(question), Reading::tolerant);
  // An ended job needs no release; the next poll shows how it ended.
  co_return told.answer || told.is(Outcome::finished);
}

// One request for all jobs, and none at all while the last answer is young: see listing_share.
Awaitable<bool> SlurmClient::refresh() {
  const auto begin = Clock::now();
  const unsigned changes = changes_;
  if (stamp_ != 0 && begin < fresh_until_) {
    age_s_ = std::chrono::duration<double>(begin - listed_).count();
    co_return true;
  }
  slurm_agent::Poll question;
  if (stamp_ != 0) question.since = stamp_;
  const auto told = co_await ask(std::move(question), Reading::strict);
  if (!told.answer) co_return false;
  if (!told.answer->unchanged.value_or(false)) {
    if (!told.answer->jobs) co_return false;
    listing_.clear();
    for (const slurm_agent::JobFacts& job : *told.answer->jobs)
      listing_.push_back(slurm_status(job));
  }
  stamp_ = told.answer->stamp;
  listed_ = begin;
  age_s_ = 0;
  const auto now = Clock::now();
  const double took_s = std::chrono::duration<double>(now - begin).count();
  const double reuse_s = std::min(took_s / config_.listing_share, config_.max_reuse_s);
  if (changes == changes_) fresh_until_ = now + seconds(reuse_s);
  co_return true;
}

// A watched job that the listing lacks is asked for by its number before it counts as missing.
Awaitable<bool> SlurmClient::add_unlisted(const Backend::TrackedJob& job, Statuses& statuses) {
  auto question = about_job<slurm_agent::Job>(job.handle, job.token, job.folder, job.identity);
  const auto told = co_await ask(std::move(question), Reading::strict);
  if (told.answer && of_owner(slurm_status(told.answer->job), job)) {
    statuses.push_back(slurm_status(told.answer->job));
    recognize(statuses.back(), job);
    co_return true;
  }
  if (!told.answer && !told.is(Outcome::missing)) co_return false;
  JobStatus missing;
  missing.handle = job.handle;
  missing.token = job.token;
  missing.reason = "Slurm has forgotten it";
  missing.may_go_on = true;  // slurmctld comes back from a crash with an older state
  statuses.push_back(missing);
  co_return true;
}

Awaitable<std::optional<Statuses>> SlurmClient::poll(
    const std::vector<Backend::TrackedJob>& watched) {
  const auto self = shared_from_this();
  if (!co_await refresh()) co_return std::nullopt;
  Statuses statuses = listing_;
  drop_others(statuses, watched);
  std::set<std::pair<std::string, std::string>> listed;
  for (const JobStatus& status : statuses)
    listed.emplace(status.handle, status.token);
  std::map<std::pair<std::string, std::string>, const Backend::TrackedJob*> ours;
  for (const Backend::TrackedJob& job : watched) {
    ours[{job.handle, job.token}] = &job;
    if (listed.count({job.handle, job.token}) > 0) continue;
    const auto same = std::find_if(statuses.begin(), statuses.end(), [&](const JobStatus& s) {
      return s.handle == job.handle && s.token.empty() && !job.folder.empty() &&
             s.folder == job.folder && of_owner(s, job);
    });
    if (same != statuses.end()) {
      recognize(*same, job);
      continue;
    }
    if (!co_await add_unlisted(job, statuses)) co_return std::nullopt;
  }
  for (JobStatus& status : statuses) {
    const auto own = ours.find({status.handle, status.token});
    if (status.phase == JobPhase::ended && own != ours.end())
      status.warned = was_warned(status, *own->second);
  }
  co_return statuses;
}

Awaitable<bool> SlurmClient::cancel(const Backend::TrackedJob& job, Ending how) {
  const auto self = shared_from_this();
  changed();
  auto question = about_job<slurm_agent::Cancel>(job.handle, job.token, job.folder, job.identity);
  question.signal = how == Ending::gently ? "TERM" : "KILL";
  const auto told = co_await ask(std::move(question), Reading::tolerant);
  co_return told.answer || told.is(Outcome::missing) || told.is(Outcome::finished);
}

// Not submit_outcome: a request that the agent may have had is asked again, it does no harm.
Awaitable<Authorization> SlurmClient::authorize(const std::string& credential,
                                                const std::string& digest) {
  const auto self = shared_from_this();
  slurm_agent::Authorize question{credential, digest};
  const auto told = co_await ask(std::move(question), Reading::strict);
  Authorization result;
  if (told.answer) {
    const auto& answer = *told.answer;
    result.identity = Identity{answer.uid, answer.grant};
    result.gid = answer.gid;
    result.user = answer.user;
    result.expires = answer.expires;
  } else {
    result.retry = submit_outcome(told.failure.outcome) != SubmitOutcome::refused;
    result.message = told.failure.message;
  }
  co_return result;
}

Awaitable<bool> SlurmClient::revoke(const std::string& grant) {
  const auto self = shared_from_this();
  slurm_agent::Revoke question{grant};
  const auto told = co_await ask(std::move(question), Reading::tolerant);
  co_return told.answer.has_value();
}

Awaitable<Preparation> SlurmClient::prepare(const LaunchRequest& request,
                                            const std::map<std::string, std::string>& files) {
  const auto self = shared_from_this();
  slurm_agent::Prepare question{on_behalf_of(request.identity), request.folder.string(), files};
  const auto told = co_await ask(std::move(question), Reading::tolerant);
  Preparation result{told.answer.has_value(), false, told.failure.message};
  result.retry = !result.done && submit_outcome(told.failure.outcome) != SubmitOutcome::refused;
  co_return result;
}

Awaitable<Emptying> SlurmClient::empty(const Identity& identity,
                                       const std::vector<std::filesystem::path>& folders) {
  const auto self = shared_from_this();
  slurm_agent::Remove question;
  question.as = on_behalf_of(identity);
  for (const auto& folder : folders)
    question.folders.push_back(folder.string());
  const auto told = co_await ask(std::move(question), Reading::strict);
  Emptying emptying;
  if (told.answer) {
    emptying.done = std::min<std::size_t>(told.answer->done, folders.size());
    emptying.problems = told.answer->problems;
  } else {
    // Without words it would count as done, and be asked for again at once.
    emptying.message = told.failure.message.empty() ? "no reason was given" : told.failure.message;
  }
  co_return emptying;
}

Awaitable<std::string> SlurmClient::describe() {
  const auto self = shared_from_this();
  const auto hello = co_await ask(slurm_agent::Hello{}, Reading::tolerant);
  if (!hello.answer) {
    if (!hello.sent || hello.is(Outcome::no_slurm)) co_return "";
    // As where its libraries are missing: Slurm's, on a machine without it.
    if (hello.never_answered && !has_slurm_commands()) co_return "";
    co_return "slurm: " + hello.failure.message;
  }
  if (hello.answer->site)
    credential_reader_ = CredentialReader{hello.answer->user, hello.answer->tokens};
  std::string text = "slurm " + hello.answer->version + ", cluster " + hello.answer->cluster;
  const auto nodes = co_await ask(slurm_agent::Nodes{}, Reading::tolerant);
  if (!nodes.answer) co_return text;
  const auto [total, usable] = *nodes.answer;
  text += ", " + std::to_string(total) + (total == 1 ? " node" : " nodes");
  if (usable < total) text += " (" + std::to_string(usable) + " usable)";
  co_return text;
}

class SlurmBackend final : public Backend {
 public:
  SlurmBackend(std::shared_ptr<SlurmClient> client, const SlurmBackendConfig& config)
      : client_(std::move(client)), max_jobs_(config.max_jobs), grace_s_(config.cancel_grace_s) {}
  ~SlurmBackend() override { client_->close(); }

  std::string name() const override { return "slurm"; }
  double grace_s() const override { return grace_s_; }
  // slurmctld saves what has changed within seconds, on a busy filesystem later.
  double forgets_s() const override { return 60; }
  double age_s() const override { return client_->age_s(); }
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
  Awaitable<std::optional<Statuses>> poll(const std::vector<TrackedJob>& watched) override {
    return client_->poll(watched);
  }
  Awaitable<bool> cancel(const TrackedJob& job, Ending how) override {
    return client_->cancel(job, how);
  }
  Awaitable<Authorization> authorize(const std::string& credential,
                                     const std::string& digest) override {
    return client_->authorize(credential, digest);
  }
  std::optional<CredentialReader> credential_reader() const override {
    return client_->credential_reader();
  }
  Awaitable<bool> revoke(const std::string& grant) override { return client_->revoke(grant); }
  Awaitable<Preparation> prepare(const LaunchRequest& request,
                                 const std::map<std::string, std::string>& files) override {
    return client_->prepare(request, files);
  }
  Awaitable<Emptying> empty(const Identity& identity,
                            const std::vector<std::filesystem::path>& folders) override {
    return client_->empty(identity, folders);
  }
  Awaitable<std::string> describe() override { return client_->describe(); }

 private:
  std::shared_ptr<SlurmClient> client_;
  int max_jobs_;
  double grace_s_;
};

}  // namespace

std::unique_ptr<Backend> make_slurm_backend(std::shared_ptr<SlurmAgent> agent,
                                            const SlurmBackendConfig& config) {
  return std::make_unique<SlurmBackend>(std::make_shared<SlurmClient>(std::move(agent), config),
                                        config);
}

std::unique_ptr<Backend> make_slurm_backend(boost::asio::any_io_executor executor,
                                            const SlurmBackendConfig& config) {
  return make_slurm_backend(make_link(std::move(executor), config), config);
}

}  // namespace thalweg::daemon
