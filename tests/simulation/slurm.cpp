#include "tests/simulation/slurm.h"

#include <fmt/format.h>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "daemon/backend/timer.h"

namespace thalweg::simulation {

using namespace slurm_agent;
using nlohmann::json;

namespace {

constexpr double saves_every_s = 1, remembers_s = 30;
constexpr double end_report_s = 20;  ///< a running job without a process on its node is lost then
constexpr double registers_every_s = 100;
constexpr double unseen_limit_s = 20, min_job_age_s = 120, kill_wait_s = 10;

Failure failure(Outcome outcome, const std::string& message) {
  return {0, outcome, message};
}

double number(const std::string& text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string option(const Options& options, const char* name) {
  const auto it = options.find(name);
  return it == options.end() ? "" : it->second;
}

}  // namespace

/// Between a controller and slurmctld; it ends with the controller.
class Agent : public daemon::SlurmAgent {
 public:
  Agent(boost::asio::any_io_executor executor, Slurm& slurm)
      : executor_(std::move(executor)), slurm_(slurm) {}

  boost::asio::awaitable<Reply> ask(json question, Clock::duration limit) override {
    const double limit_s = std::chrono::duration<double>(limit).count();
    Dice& dice = slurm_.dice_;
    const auto now = [this] { return slurm_.clock_.now(); };
    if (now() < slurm_.agent_gone) co_return Reply{{}, false, "the agent has ended"};
    const double slowness = now() < slurm_.slow ? 40 : 1;
    const bool loses = now() < slurm_.loses_answers;
    if (const auto as = question.find("as"); as != question.end() && as->is_object()) {
      const auto [user, until] = slurm_.hangs;
      if (as->at("uid") == user && now() < until) co_await pause(until - now());
    }
    if (loses && dice.chance(0.3)) {
      co_await pause(limit_s);
      co_return Reply{{}, true, "no answer"};
    }
    co_await pause(dice.between(0.01, 0.1) * slowness);
    json answer = slurm_.answer(question);
    if (loses && dice.chance(0.4)) {
      co_await pause(limit_s);
      co_return Reply{{}, true, "no answer"};
    }
    co_await pause(dice.between(0.01, 0.1) * slowness);
    co_return Reply{std::move(answer), true, ""};
  }
  void close() override {}

 private:
  boost::asio::awaitable<void> pause(double seconds) {
    daemon::Timer timer(executor_, std::chrono::duration_cast<Clock::duration>(
                                       std::chrono::duration<double>(seconds)));
    co_await timer.async_wait(boost::asio::use_awaitable);
  }

  boost::asio::any_io_executor executor_;
  Slurm& slurm_;
};

Slurm::Slurm(Dice dice, VirtualClock& clock, Engines& engines)
    : dice_(dice), clock_(clock), engines_(engines) {}

std::shared_ptr<daemon::SlurmAgent> Slurm::agent(boost::asio::any_io_executor executor) {
  return std::make_shared<Agent>(std::move(executor), *this);
}

std::vector<SlurmJob*> Slurm::jobs_that(const std::function<bool(const SlurmJob&)>& wanted) {
  std::vector<SlurmJob*> result;
  for (auto& [number, job] : known_.jobs)
    if (!job.of_a_stranger && wanted(job)) result.push_back(&job);
  return result;
}

Engine* Slurm::engine_of(const SlurmJob& job) {
  if (job.start == 0) return nullptr;
  return &engines_.all()[static_cast<std::size_t>(job.start - 1)];
}

void Slurm::end(SlurmJob& job, const char* state, const std::string& reason) {
  job.state = state;
  job.reason = reason;
  job.ended = std::floor(now_unix());
}

void Slurm::run() {
  if (down()) return;
  if (!came_back_ || clock_.now() >= registration_) nodes_register();
  take_ends();
  for (auto& [number, job] : known_.jobs)
    if (job.runs()) watch_running(job);
  for (Engine& engine : engines_.all()) {
    // What ends by force although its job has ended for slurmctld.
    const auto job = known_.jobs.find(engine.job);
    if (engine.alive && job != known_.jobs.end() && job->second.start == engine.start &&
        job->second.ends_by_force > 0 && job->second.ends_by_force <= clock_.now() &&
        engine.node->unseen <= clock_.now())
      engines_.kill(engine, 9);
  }
  schedule();
  std::erase_if(known_.jobs, [&](const auto& one) {
    const SlurmJob& job = one.second;
    return job.ended > 0 && now_unix() - job.ended > min_job_age_s;
  });
  if (saved_.empty() || clock_.now() - saved_.back().first >= saves_every_s)
    saved_.emplace_back(clock_.now(), known_);
  while (saved_.front().first < clock_.now() - remembers_s)
    saved_.pop_front();
}

/// slurmd tells how its jobs ended, again and again until slurmctld hears it.
void Slurm::take_ends() {
  for (Engine& engine : engines_.all()) {
    if (engine.alive || reported_.count(engine.start) != 0) continue;
    if (engine.node->unseen > clock_.now() || engine.node->dead > clock_.now()) continue;
    reported_.insert(engine.start);
    const auto found = known_.jobs.find(engine.job);
    if (found == known_.jobs.end() || found->second.start != engine.start) continue;
    SlurmJob& job = found->second;
    if (!job.runs()) continue;
    job.exit = engine.signal != 0 ? engine.signal : engine.exit << 8;
    const bool good = job.exit == 0;
    end(job, good ? "COMPLETED" : "FAILED", good ? "" : "NonZeroExitCode");
  }
}

void Slurm::watch_running(SlurmJob& job) {
  const double now = clock_.now(), ran = now_unix() - job.started;
  if (job.of_a_stranger) {
    if (ran > 60) end(job, "COMPLETED");
    return;
  }
  Engine* const engine = engine_of(job);
  const bool gone = engine == nullptr || !engine->alive;
  const Node* const node = engine == nullptr ? nullptr : engine->node;
  if (gone && node != nullptr && node->unseen <= now && node->dead <= now &&
      reported_.count(engine->start) != 0 && ran > end_report_s) {
    return end(job, "NODE_FAIL");  // it ran there, says slurmctld, and the node knows nothing of it
  }
  if (node != nullptr && (node->dead > now + 1 || node->unseen > now + 1) && ran > unseen_limit_s) {
    if (dice_.chance(0.7)) job.ends_by_force = now;  // when it is in reach again
    return end(job, "NODE_FAIL");
  }
  if (engine == nullptr || !engine->alive) return;
  if (job.warning_s > 0 && !job.warned && ran > job.limit_s - job.warning_s) {
    job.warned = true;
    engine->told_to_stop = true;
  }
  if (ran > job.limit_s) {
    engine->killed_at = now + 0.5;
    end(job, "TIMEOUT", "TimeLimit");
  }
}

void Slurm::schedule() {
  std::set<std::string> taken;
  for (const auto& [number, job] : known_.jobs) {
    const Engine* const engine = engine_of(job);
    if (job.runs() || (engine != nullptr && engine->alive)) taken.insert(job.node);
  }
  for (auto& [number, job] : known_.jobs) {
    if (!job.waits() || job.held) continue;
    std::vector<Node*> free;
    for (Node& node : engines_.nodes())
      if (taken.count(node.name) == 0 && job.without.count(node.name) == 0 &&
          node.unseen <= clock_.now() && node.dead <= clock_.now())
        free.push_back(&node);
    if (free.empty()) {
      job.reason = "Resources";
      continue;
    }
    Node& node = *dice_.pick(free);
    job.node = node.name;
    job.started = std::floor(now_unix());
    job.reason.clear();
    taken.insert(node.name);
    const bool there =
        std::any_of(engines_.all().begin(), engines_.all().end(), [&](const Engine& engine) {
          return engine.alive && engine.job == number && engine.folder == job.folder;
        });
    if (there && dice_.chance(0.5)) {
      end(job, "CANCELLED");  // "Duplicate jobid", says its node
      cancelled_itself.insert(job.folder);
      continue;
    }
    job.state = "RUNNING";
    if (!job.of_a_stranger)
      job.start = engines_.start(number, job.token, job.folder, node, clock_.now()).start;
  }
}

void Slurm::crash(double down_s, double forgets_s) {
  down_ = clock_.now() + down_s;
  came_back_ = false;
  while (saved_.size() > 1 && saved_.back().first > clock_.now() - forgets_s)
    saved_.pop_back();
  if (!saved_.empty()) known_ = saved_.back().second;
}

/// What slurmctld does not take for running is ended on its node, mostly at once; where all is
/// well, always.
void Slurm::nodes_register() {
  came_back_ = true;
  registration_ = clock_.now() + registers_every_s;
  for (Engine& engine : engines_.all()) {
    if (!engine.alive) continue;
    const auto job = known_.jobs.find(engine.job);
    const bool known =
        job != known_.jobs.end() && job->second.runs() && job->second.start == engine.start;
    if (!known && (dice_.chance(0.7) || well_))
      engine.killed_at = clock_.now() + dice_.between(0, 5);
  }
}

void Slurm::take_next_number() {
  SlurmJob job;
  job.number = known_.next++;
  job.of_a_stranger = true;
  job.held = false;
  job.submitted = now_unix();
  known_.jobs[job.number] = job;
}

void Slurm::cancel(SlurmJob& job) {
  if (job.waits()) {
    job.started = std::floor(now_unix());
    job.node.clear();
  } else if (job.runs()) {
    if (Engine* const engine = engine_of(job)) engine->told_to_stop = true;
    job.ends_by_force = clock_.now() + kill_wait_s;
  } else {
    return;
  }
  end(job, "CANCELLED");
}

void Slurm::preempt(SlurmJob& job) {
  if (!job.runs()) return;
  if (Engine* const engine = engine_of(job)) engine->told_to_stop = true;
  job.ends_by_force = clock_.now() + kill_wait_s;
  end(job, "PREEMPTED");
}

/// By hand: the same number starts again.
void Slurm::requeue(SlurmJob& job) {
  if (!job.runs()) return;
  requeued.insert(job.folder);
  if (Engine* const engine = engine_of(job)) {
    // Told first, it may come to its own end; out of reach it hears nothing.
    const double killed = clock_.now() + dice_.between(0, 4);
    if (engine->node->unseen <= clock_.now()) {
      engine->told_to_stop = true;
      engine->killed_at = killed;
    }
    reported_.insert(engine->start);
  }
  job.state = "PENDING";
  job.node.clear();
  job.started = 0;
  job.start = 0;
}

void Slurm::heal() {
  well_ = true;
  slow = loses_answers = agent_gone = refuses = 0;
  hangs = {0, 0};
  for (auto& [number, job] : known_.jobs)
    if (job.waits() && job.held && (job.released || job.token.empty())) job.held = false;
}

JobFacts Slurm::facts(const SlurmJob& job) {
  JobFacts facts;
  facts.job = job.number;
  facts.token = job.token;
  facts.name = job.name;
  facts.state = job.state;
  facts.reason = job.held && job.waits() ? "JobHeldUser" : job.reason;
  facts.nodes = job.node;
  facts.folder = job.folder;
  const Engine* const engine = engine_of(job);
  facts.completing =
      job.ended > 0 && engine != nullptr && engine->alive && engine->node->unseen <= clock_.now();
  facts.held = job.held && job.waits();
  facts.released = job.released && !job.token.empty();
  facts.submitted = facts.eligible = static_cast<std::int64_t>(job.submitted);
  facts.started = static_cast<std::int64_t>(job.started);
  facts.ended = static_cast<std::int64_t>(job.ended);
  facts.exit = static_cast<std::uint32_t>(job.exit);
  facts.node_count = job.node.empty() ? 0 : 1;
  facts.user = job.user;
  return facts;
}

SlurmJob* Slurm::find(const JobQuestion& asked) {
  const auto it = known_.jobs.find(asked.job);
  if (it == known_.jobs.end() || it->second.of_a_stranger) return nullptr;
  SlurmJob& job = it->second;
  if (asked.as && asked.as->uid != job.user) return nullptr;
  const bool same_token = !asked.token.empty() && job.token == asked.token;
  const bool same_folder = job.token.empty() && !asked.folder.empty() && job.folder == asked.folder;
  return same_token || same_folder ? &job : nullptr;
}

json Slurm::answer(const json& question) {
  const std::string verb = question.at("verb");
  json answer;
  each_question([&]<class Question>() {
    if (verb != Question::verb) return;
    constexpr bool needs_slurmctld =
        !std::is_same_v<Question, Hello> && !std::is_same_v<Question, Ping>;
    if (needs_slurmctld && down()) {
      answer = answer_json<Nothing>(failure(Outcome::retry_later, "slurmctld does not answer"));
      return;
    }
    const Result<typename Question::Answer> result = run(read_question<Question>(question));
    answer = answer_json(result);
  });
  return answer;
}

Result<Hello::Answer> Slurm::run(const Hello&) {
  Hello::Answer answer;
  answer.protocol = protocol_version;
  answer.version = answer.built_for = "22.05";
  answer.cluster = "simulated";
  return answer;
}

Result<Submit::Answer> Slurm::run(const Submit& asked) {
  if (clock_.now() < refuses)
    return failure(Outcome::retry_later, "the limit of submitted jobs is reached");
  SlurmJob job;
  job.number = known_.next++;
  job.token = asked.token;
  job.name = option(asked.options, "job-name");
  job.folder = option(asked.options, "chdir");
  job.limit_s = 60 * number(option(asked.options, "time"));
  if (const std::string signal = option(asked.options, "signal"); signal.starts_with("USR1@"))
    job.warning_s = number(signal.substr(5));
  std::string exclude = option(asked.options, "exclude") + ",";
  for (std::size_t at; (at = exclude.find(',')) != std::string::npos; exclude.erase(0, at + 1))
    if (at > 0) job.without.insert(exclude.substr(0, at));
  if (asked.as) job.user = asked.as->uid;
  job.submitted = now_unix();
  known_.jobs[job.number] = job;
  return Submit::Answer{job.number, ""};
}

Result<Nothing> Slurm::run(const Release& asked) {
  SlurmJob* const job = find(asked);
  if (job == nullptr) return failure(Outcome::missing, "not the one that was submitted");
  if (job->ended > 0) return failure(Outcome::finished, "it has ended");
  if (!job->held) return Nothing{};
  job->held = false;
  job->released = true;
  job->token = asked.token;
  return Nothing{};
}

Result<Cancel::Answer> Slurm::run(const Cancel& asked) {
  SlurmJob* const job = find(asked);
  if (job == nullptr) return failure(Outcome::missing, "not the one that was submitted");
  if (job->ended > 0) {
    if (Engine* const engine = engine_of(*job); engine != nullptr && engine->alive)
      job->ends_by_force = clock_.now() + 1;
    return failure(Outcome::finished, "it has ended");
  }
  Cancel::Answer answer{asked.signal, job->state};
  if (asked.signal == "TERM" && job->runs()) {
    if (Engine* const engine = engine_of(*job)) engine->told_to_stop = true;
    return answer;
  }
  answer.signal = "KILL";
  if (job->runs()) job->ends_by_force = clock_.now() + 1;
  if (job->waits()) job->started = std::floor(now_unix());
  end(*job, "CANCELLED");
  return answer;
}

Result<Poll::Answer> Slurm::run(const Poll& asked) {
  std::vector<JobFacts> jobs;
  for (const auto& [number, job] : known_.jobs)
    if (!job.of_a_stranger) jobs.push_back(facts(job));
  if (jobs != listing_) ++stamp_;
  listing_ = jobs;
  if (asked.since == stamp_) return Poll::Answer{stamp_, true, {}};
  return Poll::Answer{stamp_, {}, std::move(jobs)};
}

Result<Job::Answer> Slurm::run(const Job& asked) {
  SlurmJob* const job = find(asked);
  if (job == nullptr) return failure(Outcome::missing, "not the one that was submitted");
  return Job::Answer{facts(*job)};
}

/// The attempt's folder, made as its user.
Result<Nothing> Slurm::run(const Prepare& asked) {
  std::error_code error;
  std::filesystem::create_directory(asked.folder, error);
  for (const auto& [name, text] : asked.files)
    std::ofstream(std::filesystem::path(asked.folder) / name) << text;
  return Nothing{};
}

/// As a user who has a second at most and is now and then not through in it.
Result<Remove::Answer> Slurm::run(const Remove& asked) {
  Remove::Answer answer;
  for (const std::string& folder : asked.folders) {
    if (dice_.chance(0.1)) break;
    std::error_code error;
    for (const auto& each : std::filesystem::directory_iterator(folder, error))
      std::filesystem::remove_all(each.path());
    ++answer.done;
  }
  return answer;
}

Result<Nothing> Slurm::run(const Revoke&) {
  return Nothing{};
}

Result<Nodes::Answer> Slurm::run(const Nodes&) {
  return Nodes::Answer{static_cast<int>(engines_.nodes().size()),
                       static_cast<int>(engines_.nodes().size())};
}

}  // namespace thalweg::simulation
